import EndToEndTesting
import Foundation
import Glibc
import Synchronization

/// One connection through the proxy: two sockets, and a thread for each direction.
final class Wire: Sendable {
    /// How the server's bytes are dealt with.
    private enum Mode {
        case open
        /// The next answer is held back for so long.
        case delaying(Duration)
        /// So many bytes still go to the client; when the server has said ReadyForQuery so often, the wire is cut.
        case cutting(remaining: Int, answers: Int)
        /// Nothing goes through.
        case silent
        case cut
    }

    private let (client, server): (Int32, Int32)
    private let mode = Mutex(Mode.open)
    private let isClosed = Mutex(false)
    private let ambushes: Ambushes
    private let threads = Atomic(2)
    private let onEnd: @Sendable (Wire) -> Void

    init(client: Int32, server: Int32, ambushes: Ambushes, onEnd: @escaping @Sendable (Wire) -> Void) {
        (self.client, self.server, self.ambushes, self.onEnd) = (client, server, ambushes, onEnd)
    }

    func run() {
        Thread.detachNewThread {
            self.carryRequests()
            self.finish()
        }
        Thread.detachNewThread {
            self.carryAnswers()
            self.finish()
        }
    }

    /// Both sides lose the connection, in the middle of whatever they say.
    func cut() {
        mode.withLock { $0 = .cut }
        isClosed.withLock { isClosed in
            // Closed numbers may be another's by now.
            guard !isClosed else { return }
            for descriptor in [client, server] { shutdown(descriptor, Int32(SHUT_RDWR)) }
        }
    }

    /// Nothing goes through any more, and nobody is told; cut after that time.
    func silence(for duration: Duration) {
        mode.withLock { if case .open = $0 { $0 = .silent } }
        Thread.detachNewThread { [weak self] in
            _ = poll(nil, 0, Int32(duration.components.seconds * 1000 + duration.components.attoseconds / 1_000_000_000_000_000))
            self?.cut()
        }
    }

    private var isSilent: Bool { mode.withLock { if case .silent = $0 { true } else { false } } }

    private func carryRequests() {
        var reader = FrontendReader()
        while let bytes = Socket.receive(client) {
            if isSilent { continue }
            guard let mark = reader.feed(bytes).last, let user = reader.user, let strike = ambushes.spring(for: user) else {
                guard Socket.send(bytes[...], to: server) else { break }
                continue
            }
            guard carryOut(strike, on: bytes, at: mark) else { break }
        }
        cut()
    }

    /// Says whether the wire is still whole.
    private func carryOut(_ strike: Strike, on bytes: [UInt8], at mark: FrontendReader.Mark) -> Bool {
        switch strike {
        case .cutBeforeDelivery:
            _ = Socket.send(bytes[..<mark.start], to: server)
            return false
        case .cutAfterDelivery: mode.withLock { $0 = .cutting(remaining: 0, answers: mark.answers) }
        case .cutInAnswer: mode.withLock { $0 = .cutting(remaining: 7, answers: mark.answers) }
        case .delay(let duration): mode.withLock { $0 = .delaying(duration) }
        case .silence(let isDelivered, let duration):
            silence(for: duration)
            return Socket.send(isDelivered ? bytes[...] : bytes[..<mark.start], to: server)
        }
        return Socket.send(bytes[...], to: server)
    }

    private func carryAnswers() {
        var reader = BackendReader()
        while let bytes = Socket.receive(server) {
            reader.feed(bytes)
            switch mode.withLock({ $0 }) {
            case .cut: return
            case .silent: continue
            case .open: guard Socket.send(bytes[...], to: client) else { return cut() }
            case .delaying(let duration):
                _ = poll(nil, 0, Int32(duration.components.attoseconds / 1_000_000_000_000_000))
                mode.withLock { if case .delaying = $0 { $0 = .open } }
                guard Socket.send(bytes[...], to: client) else { return cut() }
            case .cutting(let remaining, let answers):
                let piece = bytes.prefix(remaining)
                _ = Socket.send(piece, to: client)
                mode.withLock { $0 = .cutting(remaining: remaining - piece.count, answers: answers) }
                // The server is done: what was asked for lasts, and its client will never know.
                if reader.answers >= answers { return cut() }
            }
        }
        cut()
    }

    private func finish() {
        guard threads.subtract(1, ordering: .acquiringAndReleasing).newValue == 0 else { return }
        onEnd(self)
        isClosed.withLock { isClosed in
            isClosed = true
            Socket.reset(client)
            close(server)
        }
    }
}
