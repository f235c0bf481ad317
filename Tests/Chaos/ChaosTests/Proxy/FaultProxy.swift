import EndToEndTesting
import Foundation
import Glibc
import Synchronization

/// A TCP proxy between the daemons and one PostgreSQL that injects network faults.
final class FaultProxy: Sendable {
    /// The port to which the daemons connect.
    let port: Int
    private let listener: Int32
    private let server: Int
    private let scheduledFaults: ScheduledFaults
    private let state = Mutex(State())

    private struct State {
        var connections: [ObjectIdentifier: ProxiedConnection] = [:]
        /// Connections that were accepted and never served.
        var unanswered: [Int32] = []
        var isUnresponsive = false
    }

    /// - Parameter server: the port of PostgreSQL.
    init(server: Int, scheduledFaults: ScheduledFaults) throws {
        guard let (listener, port) = Socket.listen() else { throw ProgramFailure(what: "no port for the proxy") }
        (self.listener, self.port, self.server, self.scheduledFaults) = (listener, port, server, scheduledFaults)
    }

    func run() {
        Thread.detachNewThread {
            while let client = Socket.accept(from: self.listener) { self.take(client) }
        }
    }

    /// Cuts all connections; returns how many.
    @discardableResult
    func cutAll() -> Int {
        let connections = state.withLock { Array($0.connections.values) }
        for connection in connections { connection.cut() }
        return connections.count
    }

    /// Makes every second connection half-open; returns how many.
    func silenceSome(for duration: Duration) -> Int {
        let connections = state.withLock { Array($0.connections.values) }
        let some = connections.enumerated().filter { $0.offset.isMultiple(of: 2) }.map(\.element)
        for connection in some { connection.silence(for: duration) }
        return some.count
    }

    /// While unresponsive, the proxy accepts connections without serving them; afterwards it resets these.
    func setUnresponsive(_ isUnresponsive: Bool) {
        let unanswered = state.withLock { state in
            state.isUnresponsive = isUnresponsive
            defer { if !isUnresponsive { state.unanswered = [] } }
            return isUnresponsive ? [] : state.unanswered
        }
        for descriptor in unanswered { Socket.reset(descriptor) }
    }

    /// The number of connections accepted and not served since the proxy became unresponsive.
    var unansweredCount: Int { state.withLock { $0.unanswered.count } }

    func end() {
        shutdown(listener, Int32(SHUT_RDWR))
        close(listener)
        setUnresponsive(false)
        cutAll()
    }

    private func take(_ client: Int32) {
        let isUnanswered = state.withLock { state in
            if state.isUnresponsive { state.unanswered.append(client) }
            return state.isUnresponsive
        }
        if isUnanswered { return }
        guard let upstream = Socket.connect(to: server) else { return Socket.reset(client) }
        let connection = ProxiedConnection(client: client, server: upstream, scheduledFaults: scheduledFaults) { connection in
            _ = self.state.withLock { $0.connections.removeValue(forKey: ObjectIdentifier(connection)) }
        }
        state.withLock { $0.connections[ObjectIdentifier(connection)] = connection }
        connection.run()
    }
}
