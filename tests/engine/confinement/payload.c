/* What a program in a model might try, without Python: each answer is 0 or more where it succeeded, else -errno. */

#define _GNU_SOURCE
#include <arpa/inet.h>
#include <errno.h>
#include <fcntl.h>
#include <pthread.h>
#include <sched.h>
#include <signal.h>
#include <stdio.h>
#include <string.h>
#include <sys/ptrace.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <sys/time.h>
#include <sys/uio.h>
#include <sys/wait.h>
#include <unistd.h>

static long told(long answer) { return answer < 0 ? -errno : answer; }

long attack_read(const char *path) {
    char first;
    int file = open(path, O_RDONLY);
    if (file < 0) return -errno;
    long answer = told(read(file, &first, 1));
    close(file);
    return answer;
}

long attack_list(const char *path) { return told(open(path, O_RDONLY | O_DIRECTORY)); }

long attack_write(const char *path) { return told(open(path, O_WRONLY | O_CREAT | O_APPEND, 0600)); }

long attack_change(const char *path) { return told(chmod(path, 0777)); }

long attack_remove(const char *path) { return told(unlink(path)); }

long attack_by_descriptors(const char *path) {
    char place[4096];
    long best = -ENOENT;
    for (int file = 0; file < 1024; file++) {
        const char *ways[] = {"/proc/self/fd/%d/..%s", "/proc/self/fd/%d/../../../../../../..%s"};
        for (int way = 0; way < 2; way++) {
            snprintf(place, sizeof place, ways[way], file, path);
            long answer = attack_read(place);
            if (answer >= 0) return answer;
        }
        int found = openat(file, path + 1, O_RDONLY);
        if (found >= 0) return found;
    }
    return best;
}

long attack_fork(const char *path) {
    long started = 0;
    for (int turn = 0; turn < 1000; turn++) {
        long child = turn % 3 == 0 ? syscall(SYS_clone, SIGCHLD, 0, 0, 0, 0) : fork();
        if (child == 0) _exit(0);
        if (child > 0) started++;
    }
    return started ? started : -errno;
}

long attack_clone3(const char *path) {
    unsigned long long arguments[8] = {0, 0, 0, 0, SIGCHLD};
    long child = syscall(435, arguments, sizeof arguments);
    if (child == 0) _exit(0);
    return told(child);
}

static void *wait_for_long(void *nothing) { sleep(5); return nothing; }

long attack_threads(const char *path) {
    pthread_attr_t small;
    pthread_t one;
    long started = 0;
    pthread_attr_init(&small);
    pthread_attr_setstacksize(&small, 1 << 14);
    while (started < 2000 && pthread_create(&one, &small, wait_for_long, NULL) == 0) started++;
    return started;
}

long attack_program(const char *path) {
    char *none[] = {NULL};
    return told(execve("/bin/true", none, none));
}

long attack_socket(const char *path) { return told(socket(AF_INET, SOCK_STREAM, 0)); }

long attack_unix_socket(const char *path) { return told(socket(AF_UNIX, SOCK_STREAM, 0)); }

long attack_trace(const char *path) { return told(ptrace(PTRACE_ATTACH, getppid(), 0, 0)); }

long attack_memory(const char *path) {
    char word[8];
    struct iovec here = {word, sizeof word}, there = {(void *)attack_memory, sizeof word};
    return told(syscall(SYS_process_vm_readv, (long)getppid(), &here, 1L, &there, 1L, 0L));
}

long attack_signal(const char *path) { return told(kill(getppid(), 0)); }

long attack_everybody(const char *path) { return told(kill(-1, 0)); }

long attack_io_uring(const char *path) {
    char parameters[120] = {0};
    return told(syscall(425, 4, parameters));
}

long attack_bpf(const char *path) {
    char parameters[72] = {0};
    return told(syscall(SYS_bpf, 0, parameters, sizeof parameters));
}

long attack_handle(const char *path) {
    char handle[136] = {128, 0};
    return told(syscall(SYS_open_by_handle_at, AT_FDCWD, handle, O_RDONLY));
}

long attack_namespace(const char *path) { return told(unshare(CLONE_NEWUSER)); }

long attack_user(const char *path) { return told(setuid(0)); }

long attack_other_numbers(const char *path) {
#ifdef __x86_64__
    return told(syscall(0x40000000L | SYS_getpid)); /* the x32 ABI */
#else
    return -ENOSYS;
#endif
}

long attack_work(const char *path) { /* past the limit of the processor, whose signal it does not want */
    signal(SIGXCPU, SIG_IGN);
    for (;;) getpid();
}

long attack_other_processor(const char *path) { /* the calls of 32 bits have other numbers: 20 is getpid */
#ifdef __x86_64__
    long answer;
    __asm__ volatile("int $0x80" : "=a"(answer) : "a"(20) : "memory");
    return answer;
#else
    return -ENOSYS;
#endif
}
