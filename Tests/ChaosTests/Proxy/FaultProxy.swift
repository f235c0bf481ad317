import EndToEndTesting
import Foundation
import Glibc
import Synchronization

/// Stands between the daemons and one PostgreSQL, and does to their connections what networks do.
final class FaultProxy: Sendable {
    /// Where the daemons find it.
    let port: Int
    private let listener: Int32
    private let server: Int
    private let ambushes: Ambushes
    private let state = Mutex(State())

    private struct State {
        var wires: [ObjectIdentifier: Wire] = [:]
        /// Accepted and never answered.
        var stranded: [Int32] = []
        var isDeaf = false
    }

    /// - Parameter server: the port of PostgreSQL.
    init(server: Int, ambushes: Ambushes) throws {
        guard let (listener, port) = Socket.listen() else { throw ProgramFailure(what: "no port for the proxy") }
        (self.listener, self.port, self.server, self.ambushes) = (listener, port, server, ambushes)
    }

    func run() {
        Thread.detachNewThread {
            while let client = Socket.accept(from: self.listener) { self.take(client) }
        }
    }

    /// Cuts all connections; says how many.
    @discardableResult
    func cutAll() -> Int {
        let wires = state.withLock { Array($0.wires.values) }
        for wire in wires { wire.cut() }
        return wires.count
    }

    /// Half of the connections fall silent, whatever they are doing; says how many.
    func silenceSome(for duration: Duration) -> Int {
        let wires = state.withLock { Array($0.wires.values) }
        let some = wires.enumerated().filter { $0.offset.isMultiple(of: 2) }.map(\.element)
        for wire in some { wire.silence(for: duration) }
        return some.count
    }

    /// Takes new connections from now on without ever answering, or answers again and resets those.
    func setDeaf(_ isDeaf: Bool) {
        let stranded = state.withLock { state in
            state.isDeaf = isDeaf
            defer { if !isDeaf { state.stranded = [] } }
            return isDeaf ? [] : state.stranded
        }
        for descriptor in stranded { Socket.reset(descriptor) }
    }

    /// How many connections it has stranded so far in being deaf.
    var strandedCount: Int { state.withLock { $0.stranded.count } }

    func end() {
        shutdown(listener, Int32(SHUT_RDWR))
        close(listener)
        setDeaf(false)
        cutAll()
    }

    private func take(_ client: Int32) {
        let isStranded = state.withLock { state in
            if state.isDeaf { state.stranded.append(client) }
            return state.isDeaf
        }
        if isStranded { return }
        guard let upstream = Socket.connect(to: server) else { return Socket.reset(client) }
        let wire = Wire(client: client, server: upstream, ambushes: ambushes) { wire in
            _ = self.state.withLock { $0.wires.removeValue(forKey: ObjectIdentifier(wire)) }
        }
        state.withLock { $0.wires[ObjectIdentifier(wire)] = wire }
        wire.run()
    }
}
