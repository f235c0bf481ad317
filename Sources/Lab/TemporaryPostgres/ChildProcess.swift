package import Glibc
import Postgres
import ServiceSupport
import Synchronization

/// A child process whose output is read line by line.
///
/// A dedicated thread starts it and waits for its end: the kernel sends the parent-death signal when that thread ends, not the process.
package final class ChildProcess: Sendable {
    /// How a process ended.
    package enum Ending: Hashable, Sendable {
        case exit(Int32)
        case signal(Int32)
    }

    private struct State {
        var pid: pid_t = 0
        var lines: [String] = []
        var isReady = false
        var failure: ClusterError?
        var ending: Ending?
        var processorTime = Duration.zero
        var readyWaiters: [CheckedContinuation<Bool, Never>] = []
        var exitWaiters: [CheckedContinuation<Void, Never>] = []

        var isOver: Bool { ending != nil || failure != nil }
    }

    private let command: ChildCommand
    private let state = Mutex(State())

    private init(_ command: ChildCommand) {
        self.command = command
    }

    /// Starts a command. ``awaitReady()`` and ``awaitSuccess()`` throw when it could not be started.
    package static func launch(_ command: ChildCommand) throws(ClusterError) -> ChildProcess {
        // SOCK_CLOEXEC is atomic; with pipe(2), a child that is started meanwhile would inherit the write end and keep it open.
        var pair: [Int32] = [0, 0]
        guard socketpair(AF_UNIX, Int32(SOCK_STREAM.rawValue | SOCK_CLOEXEC.rawValue), 0, &pair) == 0 else {
            throw ClusterError(.system, "no socket pair: \(String(cString: strerror(errno)))")
        }
        let process = ChildProcess(command)
        let (reader, writer) = (pair[0], pair[1])
        do throws(ThreadError) {
            try DetachedThread.start(named: "child-process") { process.run(reader: reader, writer: writer) }
        } catch {
            throw ClusterError(.system, "\(error)")
        }
        return process
    }

    /// The last 200 lines of standard output and standard error.
    package var output: String { state.withLock { $0.lines.joined(separator: "\n") } }
    /// How it ended; nil while it runs.
    package var ending: Ending? { state.withLock { $0.ending } }
    /// Processor time of the process and of the children it waited for; zero until it has ended.
    package var processorTime: Duration { state.withLock { $0.processorTime } }
    /// The process id; 0 before the start and after the process was reaped.
    package var pid: pid_t { state.withLock { $0.ending == nil ? $0.pid : 0 } }

    /// Sends a signal, unless the process has ended.
    package func signal(_ signal: Int32) {
        // Under the lock: the process is not reaped meanwhile, so the id cannot belong to another process.
        state.withLock { if $0.ending == nil, $0.pid > 0 { _ = Glibc.kill($0.pid, signal) } }
    }

    /// Waits until the process writes its ready mark.
    package func awaitReady() async throws(ClusterError) {
        let isReady = await withCheckedContinuation { (continuation: CheckedContinuation<Bool, Never>) in
            let known: Bool? = state.withLock { state in
                if state.isReady { return true }
                if state.isOver { return false }
                state.readyWaiters.append(continuation)
                return nil
            }
            if let known { continuation.resume(returning: known) }
        }
        if !isReady { throw failure("ended before it was ready") }
    }

    /// Waits until the process has ended and its children have closed the output.
    package func awaitExit() async {
        await withCheckedContinuation { continuation in
            let isOver = state.withLock { state in
                if !state.isOver { state.exitWaiters.append(continuation) }
                return state.isOver
            }
            if isOver { continuation.resume() }
        }
    }

    /// Waits for the end with status 0 and returns the output; throws on any other end.
    @discardableResult package func awaitSuccess() async throws(ClusterError) -> String {
        await awaitExit()
        guard ending == .exit(0) else { throw failure("failed") }
        return output
    }

    /// The error to throw when the program failed, with the end of its output.
    package func failure(_ what: String) -> ClusterError {
        let (failure, ending, output) = state.withLock { ($0.failure, $0.ending, $0.lines.suffix(30).joined(separator: "\n")) }
        if let failure { return failure }
        let end = ending.map { " (\($0))" } ?? ""
        return ClusterError(.programFailed, "\(command.name) \(what)\(end)\(output.isEmpty ? "" : ":\n\(output)")")
    }
}

extension ChildProcess {
    private func run(reader: Int32, writer: Int32) {
        do throws(ClusterError) {
            let pid = try command.spawn(output: writer)
            state.withLock { $0.pid = pid }
            CleanupRegistry.register(process: pid, endSignal: command.endSignal)
        } catch {
            state.withLock { $0.failure = error }
        }
        close(writer)
        read(from: reader)
        let pid = state.withLock { $0.pid }
        if pid > 0 { reap(pid) }
        end()
    }

    private func read(from reader: Int32) {
        guard let stream = fdopen(reader, "r") else {
            close(reader)
            return
        }
        var line: UnsafeMutablePointer<CChar>?
        var capacity = 0
        while getline(&line, &capacity, stream) > 0, let line {
            var text = String(cString: line)
            if text.hasSuffix("\n") { text.removeLast() }
            append(text)
        }
        free(line)
        fclose(stream)
    }

    private func reap(_ pid: pid_t) {
        var information = siginfo_t()
        while waitid(P_PID, id_t(pid), &information, WEXITED | WNOWAIT) < 0 && errno == EINTR {}
        state.withLock { state in
            var status: Int32 = 0
            var usage = rusage()
            while wait4(pid, &status, 0, &usage) < 0 && errno == EINTR {}
            state.processorTime = Duration(usage.ru_utime) + Duration(usage.ru_stime)
            let signal = status & 0x7f
            state.ending = signal == 0 ? .exit((status >> 8) & 0xff) : .signal(signal)
        }
        CleanupRegistry.forget(process: pid)
    }

    private func append(_ line: String) {
        let waiters = state.withLock { state in
            state.lines = state.lines.suffix(199) + [line]
            guard let mark = command.readyMark, line.contains(mark) else { return [CheckedContinuation<Bool, Never>]() }
            state.isReady = true
            defer { state.readyWaiters.removeAll() }
            return state.readyWaiters
        }
        for waiter in waiters { waiter.resume(returning: true) }
    }

    private func end() {
        let (ready, exit) = state.withLock { state in
            defer {
                state.readyWaiters.removeAll()
                state.exitWaiters.removeAll()
            }
            return (state.readyWaiters, state.exitWaiters)
        }
        for waiter in ready { waiter.resume(returning: false) }
        for waiter in exit { waiter.resume() }
    }
}

extension Duration {
    fileprivate init(_ time: timeval) {
        self = .seconds(time.tv_sec) + .microseconds(time.tv_usec)
    }
}
