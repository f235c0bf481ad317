import Foundation
import Glibc
import Synchronization

/// One connection through the proxy: two sockets, and a thread for each direction.
final class ProxiedConnection: Sendable {
    /// How the server's bytes are forwarded.
    private enum Mode {
        case open
        /// The next answer is held back for the duration.
        case delaying(Duration)
        /// The remaining bytes are forwarded; the connection is cut after the given number of ReadyForQuery messages.
        case cutting(remaining: Int, answers: Int)
        /// No bytes are forwarded.
        case silent
        case cut
    }

    private let (client, server): (Int32, Int32)
    private let mode = Mutex(Mode.open)
    private let isClosed = Mutex(false)
    private let scheduledFaults: ScheduledFaults
    private let threads = Atomic(2)
    private let onEnd: @Sendable (ProxiedConnection) -> Void

    init(client: Int32, server: Int32, scheduledFaults: ScheduledFaults, onEnd: @escaping @Sendable (ProxiedConnection) -> Void) {
        (self.client, self.server, self.scheduledFaults, self.onEnd) = (client, server, scheduledFaults, onEnd)
    }

    func run() {
        Thread.detachNewThread {
            self.forwardRequests()
            self.finish()
        }
        Thread.detachNewThread {
            self.forwardAnswers()
            self.finish()
        }
    }

    /// Shuts down both sockets at once.
    func cut() {
        mode.withLock { $0 = .cut }
        isClosed.withLock { isClosed in
            // After close(2) another thread may have reused the descriptors.
            guard !isClosed else { return }
            for descriptor in [client, server] { shutdown(descriptor, Int32(SHUT_RDWR)) }
        }
    }

    /// Forwards no more bytes and reports no error to either side; cuts the connection after the duration.
    func silence(for duration: Duration) {
        mode.withLock { if case .open = $0 { $0 = .silent } }
        Thread.detachNewThread { [weak self] in
            _ = poll(nil, 0, Int32(duration.components.seconds * 1000 + duration.components.attoseconds / 1_000_000_000_000_000))
            self?.cut()
        }
    }

    private var isSilent: Bool { mode.withLock { if case .silent = $0 { true } else { false } } }

    private func forwardRequests() {
        var reader = FrontendReader()
        while let bytes = Socket.receive(client) {
            if isSilent { continue }
            guard let mark = reader.feed(bytes).last, let user = reader.user, let fault = scheduledFaults.next(for: user) else {
                guard Socket.send(bytes[...], to: server) else { break }
                continue
            }
            guard inject(fault, into: bytes, at: mark) else { break }
        }
        cut()
    }

    /// Returns whether the connection is still open.
    private func inject(_ fault: CommitFault, into bytes: [UInt8], at mark: FrontendReader.Mark) -> Bool {
        switch fault {
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

    private func forwardAnswers() {
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
                // The server has committed, and the client never receives the whole answer.
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
