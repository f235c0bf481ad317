import Foundation
import Glibc
import Synchronization

/// A running program of PostgreSQL whose output is read line by line.
///
/// A thread of its own starts it and stays until its end: the kernel's parent-death signal is about that thread, not the process.
final class ServerProcess: Sendable {
    private struct State {
        var pid: pid_t = 0
        var lines: [String] = []
        var isReady = false
        var status: Int32?
        var readyWaiters: [CheckedContinuation<Bool, Never>] = []
        var exitWaiters: [CheckedContinuation<Void, Never>] = []
    }

    private let state = Mutex(State())

    static func launch(_ command: [String]) throws -> ServerProcess {
        // A socket pair, because a pipe cannot be closed on exec from its birth: another program started now would keep it open.
        var pair: [Int32] = [0, 0]
        guard socketpair(AF_UNIX, Int32(SOCK_STREAM.rawValue | SOCK_CLOEXEC.rawValue), 0, &pair) == 0 else {
            throw ServerFailure(program: command[0], output: "no socket pair: \(String(cString: strerror(errno)))")
        }
        let process = ServerProcess()
        let (reader, writer) = (pair[0], pair[1])
        let thread = Thread { process.run(command, reader: reader, writer: writer) }
        thread.start()
        return process
    }

    var output: String { state.withLock { $0.lines.joined(separator: "\n") } }
    var succeeded: Bool { state.withLock { $0.status == 0 } }

    func signal(_ signal: Int32) {
        let pid = state.withLock { $0.status == nil ? $0.pid : 0 }
        if pid > 0 { Glibc.kill(pid, signal) }
    }

    /// Waits until the server says that it takes connections.
    func awaitReady() async throws {
        let isReady = await withCheckedContinuation { (continuation: CheckedContinuation<Bool, Never>) in
            let known: Bool? = state.withLock { state in
                if state.isReady { return true }
                if state.status != nil { return false }
                state.readyWaiters.append(continuation)
                return nil
            }
            if let known { continuation.resume(returning: known) }
        }
        if !isReady { throw ServerFailure(program: "postgres", output: output) }
    }

    /// Waits until the program and all of its children are gone: until nobody can write to its output any more.
    func awaitExit() async {
        await withCheckedContinuation { continuation in
            let isOver = state.withLock { state in
                if state.status == nil { state.exitWaiters.append(continuation) }
                return state.status != nil
            }
            if isOver { continuation.resume() }
        }
    }

    private func run(_ command: [String], reader: Int32, writer: Int32) {
        var pid = pid_t()
        let failure = spawn(command, output: writer, &pid)
        close(writer)
        guard failure == 0 else {
            close(reader)
            return end(status: failure, "\(command[0]) cannot be started: \(String(cString: strerror(failure)))")
        }
        state.withLock { $0.pid = pid }
        AtExit.register(server: pid)
        if let stream = fdopen(reader, "r") {
            var buffer = [CChar](repeating: 0, count: 4096)
            while fgets(&buffer, Int32(buffer.count), stream) != nil {
                note(String(decoding: buffer.prefix { $0 != 0 && $0 != 10 }.map { UInt8(bitPattern: $0) }, as: UTF8.self))
            }
            fclose(stream)
        }
        var status: Int32 = 0
        while waitpid(pid, &status, 0) < 0 && errno == EINTR {}
        AtExit.forget(server: pid)
        end(status: status, nil)
    }

    private func spawn(_ command: [String], output: Int32, _ pid: inout pid_t) -> Int32 {
        var actions = posix_spawn_file_actions_t()
        posix_spawn_file_actions_init(&actions)
        defer { posix_spawn_file_actions_destroy(&actions) }
        posix_spawn_file_actions_addopen(&actions, 0, "/dev/null", O_RDONLY, 0)
        posix_spawn_file_actions_adddup2(&actions, output, 1)
        posix_spawn_file_actions_adddup2(&actions, output, 2)
        let arguments = command.map { strdup($0) } + [nil]
        defer { for argument in arguments { free(argument) } }
        return posix_spawnp(&pid, command[0], &actions, nil, arguments, environ)
    }

    private func note(_ line: String) {
        let waiters = state.withLock { state in
            state.lines = state.lines.suffix(200) + [line]
            guard line.contains("database system is ready to accept connections") else { return [CheckedContinuation<Bool, Never>]() }
            state.isReady = true
            defer { state.readyWaiters.removeAll() }
            return state.readyWaiters
        }
        for waiter in waiters { waiter.resume(returning: true) }
    }

    private func end(status: Int32, _ line: String?) {
        let (ready, exit) = state.withLock { state in
            state.status = status
            if let line { state.lines.append(line) }
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
