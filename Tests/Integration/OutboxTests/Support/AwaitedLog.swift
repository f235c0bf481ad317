import Logging
import Synchronization

/// Records every log line of any level, and can wait for lines.
final class AwaitedLog: Sendable {
    private struct Waiter {
        let text: String
        let count: Int
        let continuation: CheckedContinuation<[String], Never>
    }

    private struct State {
        var lines: [String] = []
        var waiters: [Waiter] = []

        func lines(with text: String) -> [String] { lines.filter { $0.contains(text) } }
    }

    private let state = Mutex(State())

    var lines: [String] { state.withLock(\.lines) }

    var logger: Logger {
        var logger = Logger(label: "test") { _ in Handler(log: self) }
        logger.logLevel = .trace
        return logger
    }

    /// The lines with the text, as soon as there are `count`.
    @discardableResult
    func lines(with text: String, count: Int = 1) async -> [String] {
        await withCheckedContinuation { continuation in
            let found: [String]? = state.withLock { state in
                let lines = state.lines(with: text)
                if lines.count >= count { return lines }
                state.waiters.append(Waiter(text: text, count: count, continuation: continuation))
                return nil
            }
            if let found { continuation.resume(returning: found) }
        }
    }

    private func append(_ line: String) {
        let satisfied = state.withLock { state in
            state.lines.append(line)
            let (done, waiting) = state.waiters.reduce(into: ([Waiter](), [Waiter]())) { parts, waiter in
                if state.lines(with: waiter.text).count >= waiter.count { parts.0.append(waiter) } else { parts.1.append(waiter) }
            }
            state.waiters = waiting
            return done.map { ($0.continuation, state.lines(with: $0.text)) }
        }
        for (continuation, lines) in satisfied { continuation.resume(returning: lines) }
    }

    private struct Handler: LogHandler {
        let log: AwaitedLog
        var logLevel = Logger.Level.trace
        var metadata: Logger.Metadata = [:]
        var metadataProvider: Logger.MetadataProvider?

        subscript(metadataKey key: String) -> Logger.Metadata.Value? {
            get { metadata[key] }
            set { metadata[key] = newValue }
        }

        func log(event: LogEvent) {
            let all = metadata.merging(event.metadata ?? [:]) { $1 }.sorted { $0.key < $1.key }.map { " \($0.key)=\($0.value)" }.joined()
            let error = event.error.map { " \($0)" } ?? ""
            log.append("\(event.level): \(event.message)\(all)\(error)")
        }
    }
}
