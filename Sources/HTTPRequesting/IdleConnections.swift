import NIOCore
import Synchronization

/// Connections that wait for the next request over the same route.
final class IdleConnections: Sendable {
    private struct Entry {
        let channel: any Channel
        let expiry: Scheduled<Void>
    }

    private let lifetime: TimeAmount
    private let entries = Mutex<[HTTPRoute.Key: [Entry]]>([:])

    init(lifetime: Duration) {
        self.lifetime = TimeAmount(lifetime)
    }

    /// Takes the connection that was used last.
    func take(_ key: HTTPRoute.Key) -> (any Channel)? {
        entries.withLock { entries in
            while let entry = entries[key]?.popLast() {
                if entries[key]?.isEmpty == true { entries[key] = nil }
                entry.expiry.cancel()
                if entry.channel.isActive { return entry.channel }
            }
            return nil
        }
    }

    func put(_ channel: any Channel, _ key: HTTPRoute.Key) {
        let expiry = channel.eventLoop.scheduleTask(in: lifetime) {
            if self.remove(channel, key) { channel.close(promise: nil) }
        }
        entries.withLock { $0[key, default: []].append(Entry(channel: channel, expiry: expiry)) }
    }

    func closeAll() {
        let all = entries.withLock { entries in
            defer { entries = [:] }
            return entries.values.joined().map(\.self)
        }
        for entry in all {
            entry.expiry.cancel()
            entry.channel.close(promise: nil)
        }
    }

    /// False when it has been taken.
    private func remove(_ channel: any Channel, _ key: HTTPRoute.Key) -> Bool {
        entries.withLock { entries in
            guard let index = entries[key]?.firstIndex(where: { $0.channel === channel }) else { return false }
            entries[key]?.remove(at: index).expiry.cancel()
            if entries[key]?.isEmpty == true { entries[key] = nil }
            return true
        }
    }
}
