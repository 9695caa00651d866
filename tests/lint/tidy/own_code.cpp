// SPDX-License-Identifier: Apache-2.0
#include <vector>

#include <clang-tidy/ClangTidyCheck.h>
#include <clang-tidy/ClangTidyModule.h>
#include <clang-tidy/ClangTidyModuleRegistry.h>
#include <clang/AST/ASTContext.h>
#include <clang/ASTMatchers/ASTMatchers.h>
#include <clang/Basic/SourceManager.h>

/// A plugin of clang-tidy 19 (tools/full builds and loads it). Each check of that version walks
/// over all headers of the system, and what it finds there is thrown away afterwards: more than
/// half of the time that clang-tidy takes. Later versions leave them out by themselves.
namespace scout {
namespace {

using clang::ast_matchers::MatchFinder;

/// Finds nothing. The walk begins at the whole unit: from there on it goes by what is set here.
class OwnCodeCheck : public clang::tidy::ClangTidyCheck {
public:
    using ClangTidyCheck::ClangTidyCheck;

    void registerMatchers(MatchFinder* finder) override {
        finder->addMatcher(clang::ast_matchers::translationUnitDecl().bind("unit"), this);
    }

    void check(const MatchFinder::MatchResult& found) override {
        const auto* unit = found.Nodes.getNodeAs<clang::TranslationUnitDecl>("unit");
        std::vector<clang::Decl*> own;
        for (auto* declared : unit->decls()) {
            const auto where = declared->getLocation();
            if (where.isValid() && !found.SourceManager->isInSystemHeader(where)) {
                own.push_back(declared);
            }
        }
        found.Context->setTraversalScope(own);
    }
};

class OwnCodeModule : public clang::tidy::ClangTidyModule {
public:
    void addCheckFactories(clang::tidy::ClangTidyCheckFactories& factories) override {
        factories.registerCheck<OwnCodeCheck>("scout-own-code");
    }
};

const clang::tidy::ClangTidyModuleRegistry::Add<OwnCodeModule> module{
    "scout", "Leaves out the headers of the system."};

}  // namespace
}  // namespace scout
