import Glibc
import NIOCore
import Postgres
import ServiceSupport
import Synchronization

/// Resolves names on threads of their own, each name at most once every few seconds.
final class NameResolver: Sendable {
    /// Blocks until a name is resolved.
    typealias LookUp = @Sendable (_ host: String) throws -> [IPAddress]

    private struct Entry {
        let addresses: EventLoopFuture<[IPAddress]>
        let askedAt: ContinuousClock.Instant
        var isPending = true
    }

    private let lifetime: Duration
    private let lookUp: LookUp
    private let entries = Mutex<[String: Entry]>([:])

    init(lifetime: Duration, lookUp: @escaping LookUp = NameResolver.system) {
        self.lifetime = lifetime
        self.lookUp = lookUp
    }

    /// All addresses of a name, as they were a few seconds ago at most. Callers that ask meanwhile share one query.
    func addresses(of host: String, on loop: any EventLoop) -> EventLoopFuture<[IPAddress]> {
        let (future, promise) = entries.withLock { entries -> (EventLoopFuture<[IPAddress]>, EventLoopPromise<[IPAddress]>?) in
            let now = ContinuousClock.now
            if let entry = entries[host], entry.isPending || now - entry.askedAt < lifetime { return (entry.addresses, nil) }
            entries = entries.filter { $0.value.isPending || now - $0.value.askedAt < lifetime }
            let promise = loop.makePromise(of: [IPAddress].self)
            entries[host] = Entry(addresses: promise.futureResult, askedAt: now)
            return (promise.futureResult, promise)
        }
        guard let promise else { return future }
        future.whenComplete { _ in self.entries.withLock { $0[host]?.isPending = false } }
        do throws(ThreadError) {
            try DetachedThread.start(named: "resolver") { [lookUp] in promise.completeWith(Result { try lookUp(host) }) }
        } catch {
            promise.fail(error)
        }
        return future
    }

    /// The system's resolver, as getaddrinfo(3) asks it.
    static let system: LookUp = { host in
        var hints = addrinfo()
        hints.ai_socktype = Int32(SOCK_STREAM.rawValue)
        var list: UnsafeMutablePointer<addrinfo>?
        let status = getaddrinfo(host, nil, &hints, &list)
        guard status == 0 else { throw DeliveryFailure.failed("the name cannot be resolved: \(String(cString: gai_strerror(status)))") }
        defer { freeaddrinfo(list) }
        var addresses: [IPAddress] = []
        var entry = list
        while let info = entry?.pointee {
            var storage = sockaddr_storage()
            if let address = info.ai_addr {
                let length = min(Int(info.ai_addrlen), MemoryLayout<sockaddr_storage>.size)
                withUnsafeMutableBytes(of: &storage) { $0.copyBytes(from: UnsafeRawBufferPointer(start: address, count: length)) }
            }
            if let address = IPAddress(storage), !addresses.contains(address) { addresses.append(address) }
            entry = info.ai_next
        }
        return addresses
    }
}
