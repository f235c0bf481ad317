import Glibc
import Synchronization

/// Child processes to end and folders to remove when this process exits.
///
/// When this process is killed, the kernel signals its children (`--pdeathsig`), and the next process removes its folders.
package enum CleanupRegistry {
    private struct State {
        var folders: Set<String> = []
        /// Each child with the signal that ends it.
        var processes: [pid_t: Int32] = [:]
        var isHooked = false
        var isEnding = false
    }

    private static let state = Mutex(State())
    private static let cleaning = Mutex(())

    /// Ends all children, removes all folders, and exits without running exit handlers.
    package static func end(status: Int32) -> Never {
        cleaning.withLock { _ in
            clean()
            _exit(status)
        }
    }

    /// Removes one folder now. ``end(status:)`` waits for it; once ``end(status:)`` has begun, it removes the folder itself.
    package static func remove(folder: String) {
        cleaning.withLock { _ in
            guard !state.withLock(\.isEnding) else { return }
            remove(folders: [folder])
            _ = state.withLock { $0.folders.remove(folder) }
        }
    }

    static func register(folder: String) {
        let isFirst = state.withLock { state in
            state.folders.insert(folder)
            defer { state.isHooked = true }
            return !state.isHooked
        }
        if isFirst { atexit { CleanupRegistry.cleaning.withLock { _ in CleanupRegistry.clean() } } }
    }

    static func register(process: pid_t, endSignal: Int32) {
        let isLate = state.withLock { state in
            state.processes[process] = endSignal
            return state.isEnding
        }
        if isLate { kill(process, endSignal) }
    }

    static func forget(process: pid_t) {
        _ = state.withLock { $0.processes.removeValue(forKey: process) }
    }

    private static func clean() {
        let (folders, processes) = state.withLock { state in
            state.isEnding = true
            return (state.folders, state.processes)
        }
        for (process, signal) in processes { kill(process, signal) }
        // The threads that started the children reap them. A child that ignores its signal for five seconds is killed.
        for process in processes.keys { awaitEnd(of: process) }
        remove(folders: Array(folders))
    }

    private static func awaitEnd(of process: pid_t) {
        for turn in 0..<1000 {
            // WNOWAIT leaves the status to the thread that started the child.
            var information = siginfo_t()
            let result = waitid(P_PID, id_t(process), &information, WEXITED | WNOWAIT | WNOHANG)
            if result < 0 || information._sifields._sigchld.si_pid == process { return }
            if turn == 500 { kill(process, SIGKILL) }
            usleep(10_000)
        }
    }

    /// Runs `rm`, which is several times faster than Foundation with hundreds of thousands of files.
    static func remove(folders: [String]) {
        guard !folders.isEmpty else { return }
        let arguments = (["rm", "-rf", "--"] + folders).map { strdup($0) } + [nil]
        defer { for argument in arguments { free(argument) } }
        var pid = pid_t()
        guard posix_spawnp(&pid, "rm", nil, nil, arguments, environ) == 0 else { return }
        var status: Int32 = 0
        while waitpid(pid, &status, 0) < 0 && errno == EINTR {}
    }
}
