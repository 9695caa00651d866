// SPDX-License-Identifier: Apache-2.0
// The guest of the lab: a multiboot program for one x86 CPU, without libraries, built when a lab
// starts.
//
//   kernel command line: fill=MIB set=MIB rate=MIB ticks=NUMBER   (decimal; each 0 when left out)
//
// It writes to `fill` MiB of its memory once, so that those pages are not zero, and then to `rate`
// MiB of pages a second, going round and round in the first `set` of them; a page counts when one
// word of it changes. Before it changes a page it looks whether the page is as it left it. On the
// first serial line it says "ready", then ten times a second "alive N" with N = 0, 1, 2, …; "broken
// ADDRESS" for a page that is not as it was. The power button (ACPI) makes it say "power button"
// and switch itself off. Otherwise it is idle: it halts between the ticks of the timer, of which
// there are 100 a second, or `ticks`. A tick that comes while the CPU is not let run is lost, and
// what was to be written in it, too: the more ticks, the more exactly is the rate that of the CPU's
// time.

typedef unsigned int u32;
typedef unsigned short u16;
typedef unsigned char u8;

enum {
    ordinary_ticks = 100,
    lines_per_second = 10,
    page = 4096,
    pages_per_mib = 256,
    first_byte = 16 << 20,  // above the program and its stack
    serial = 0x3f8,
    acpi = 0x600,  // where SeaBIOS puts the registers of power management, on both machine types
    acpi_status = acpi,
    acpi_enable = acpi + 2,
    acpi_control = acpi + 4,
    power_button = 1 << 8,
    soft_off = 1 << 13,
};

static inline void out8(u16 port, u8 value) {
    __asm__ volatile("outb %0, %1" ::"a"(value), "Nd"(port));
}
static inline void out16(u16 port, u16 value) {
    __asm__ volatile("outw %0, %1" ::"a"(value), "Nd"(port));
}
static inline u8 in8(u16 port) {
    u8 value;
    __asm__ volatile("inb %1, %0" : "=a"(value) : "Nd"(port));
    return value;
}
static inline u16 in16(u16 port) {
    u16 value;
    __asm__ volatile("inw %1, %0" : "=a"(value) : "Nd"(port));
    return value;
}

// Multiboot's header: magic, flags, checksum.
__attribute__((section(".multiboot"), used)) static const u32 header[] = {0x1badb002, 0,
                                                                          -0x1badb002u};

static u8 stack[16384] __attribute__((aligned(16)));

__attribute__((naked, used)) void start(void) {
    __asm__ volatile(
        "cli; cld; lea %0, %%esp; push %%ebx; call run" ::"m"(stack[sizeof stack - 16]));
}

static void say(const char* text) {
    for (; *text; ++text) {
        while (!(in8(serial + 5) & 0x20)) {
        }
        out8(serial, (u8)*text);
    }
}

static void say_number(const char* word, u32 number) {
    char digits[12];
    char* at = digits + sizeof digits - 1;
    *at = 0;
    *--at = '\n';
    do {
        *--at = (char)('0' + number % 10);
        number /= 10;
    } while (number);
    say(word);
    say(at);
}

// The number behind `name` in the command line.
static u32 option(const char* line, const char* name) {
    for (; *line; ++line) {
        const char *here = line, *wanted = name;
        while (*wanted && *here == *wanted) {
            ++here;
            ++wanted;
        }
        if (!*wanted) {
            u32 value = 0;
            while (*here >= '0' && *here <= '9') {
                value = value * 10 + (u32)(*here++ - '0');
            }
            return value;
        }
    }
    return 0;
}

static volatile u32 ticks;

__attribute__((interrupt)) static void on_timer(void* frame) {
    (void)frame;
    ++ticks;
    out8(0x20, 0x20);
}

// The segments that the boot loader has left need a table of our own, for an interrupt loads one.
static struct __attribute__((packed)) {
    u16 size;
    u32 base;
} gdt_pointer, idt_pointer;
static const u32 gdt[] = {0, 0, 0x0000ffff, 0x00cf9a00, 0x0000ffff, 0x00cf9200};
static u32 idt[(0x20 + 1) * 2];

static void start_timer(u32 ticks_per_second) {
    const u32 handler = (u32)on_timer;
    gdt_pointer.size = sizeof gdt - 1;
    gdt_pointer.base = (u32)gdt;
    __asm__ volatile(
        "lgdt %0; ljmp $8, $1f; 1: mov $16, %%eax; mov %%eax, %%ds; mov %%eax, %%es; mov %%eax, "
        "%%ss" ::"m"(gdt_pointer)
        : "eax", "memory");
    idt[0x20 * 2] = (8u << 16) | (handler & 0xffff);
    idt[0x20 * 2 + 1] = (handler & 0xffff0000) | 0x8e00;
    idt_pointer.size = sizeof idt - 1;
    idt_pointer.base = (u32)idt;
    __asm__ volatile("lidt %0" ::"m"(idt_pointer) : "memory");
    // Both interrupt controllers from 0x20 on, everything masked but the timer.
    static const u16 words[][2] = {{0x20, 0x11}, {0xa0, 0x11}, {0x21, 0x20}, {0xa1, 0x28},
                                   {0x21, 4},    {0xa1, 2},    {0x21, 1},    {0xa1, 1},
                                   {0x21, 0xfe}, {0xa1, 0xff}};
    for (u32 i = 0; i < sizeof words / sizeof words[0]; ++i) {
        out8(words[i][0], (u8)words[i][1]);
    }
    const u32 divisor = 1193182 / ticks_per_second;
    out8(0x43, 0x34);
    out8(0x40, divisor & 0xff);
    out8(0x40, divisor >> 8);
    __asm__ volatile("sti");
}

static u32 set_pages, next_page, written;

static volatile u32* word_of(u32 number) {
    return (volatile u32*)(first_byte + number * page);
}

// What page `number` holds after it was written `times` times: never zero, and different in each.
static u32 content(u32 number, u32 times) {
    return (number + 1) * 2654435761u + times;
}

static void write_pages(u32 count) {
    for (; count; --count) {
        volatile u32* word = word_of(next_page);
        if (*word != content(next_page, written)) {
            say_number("broken ", (u32)word);
        }
        *word = content(next_page, written + 1);
        if (++next_page == set_pages) {
            next_page = 0;
            ++written;
        }
    }
}

static void power_off_on_request(void) {
    if (in16(acpi_status) & power_button) {
        say("power button\n");
        out16(acpi_control, soft_off);
        for (;;) {
            __asm__ volatile("hlt");
        }
    }
}

__attribute__((noreturn, used)) void run(const u32* boot) {
    const char* line = boot[0] & 4 ? (const char*)boot[4] : "";
    const u32 fill = option(line, " fill=") * pages_per_mib;
    const u32 rate = option(line, " rate=") * pages_per_mib;
    const u32 asked = option(line, " ticks=");
    const u32 ticks_per_second = asked ? asked : ordinary_ticks;
    set_pages = option(line, " set=") * pages_per_mib;
    for (u32 number = 0; number < fill || number < set_pages; ++number) {
        *word_of(number) = content(number, 0);
    }
    say("ready\n");
    out16(acpi_enable, power_button);
    start_timer(ticks_per_second);
    u32 owed = 0;  // pages, as many-th parts as there are ticks a second
    for (u32 seen = 0, lines = 0;;) {
        __asm__ volatile("hlt");
        for (; seen != ticks; ++seen) {
            power_off_on_request();
            if (set_pages) {
                owed += rate;
                write_pages(owed / ticks_per_second);
                owed %= ticks_per_second;
            }
            if (seen % (ticks_per_second / lines_per_second) == 0) {
                say_number("alive ", lines++);
            }
        }
    }
}
