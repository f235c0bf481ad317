internal import Glibc
package import OpenSSL
import Synchronization

/// A least-recently-used cache of verified chains, keyed by the JWS header that contained them.
///
/// Apple signs with a handful of leaf certificates at a time, so searching a list in order of use is faster than hashing five kilobytes.
/// A chain enters only after a signature below it was verified: forged input cannot evict entries.
final class ChainCache: Sendable {
    private struct Entry {
        let headerSegment: [UInt8]
        let chain: SigningChain
        /// Whether it was used since the last ``ChainCache/takeUsed()``.
        var isUsed = true

        /// Uses memcmp: `==` on arrays is ten times slower for a header.
        func matches(_ segment: [UInt8]) -> Bool {
            headerSegment.count == segment.count && memcmp(headerSegment, segment, segment.count) == 0
        }
    }

    private struct State {
        var entries: [Entry] = []
        var counts = ChainCacheCounts()

        /// Returns the chain of this header and moves it to the front.
        mutating func use(_ headerSegment: [UInt8]) -> SigningChain? {
            guard let index = entries.firstIndex(where: { $0.matches(headerSegment) }) else { return nil }
            if index > 0 { entries.insert(entries.remove(at: index), at: 0) }
            entries[0].isUsed = true
            return entries[0].chain
        }
    }

    private let limit: Int
    private let state = Mutex(State())

    init(limit: Int) {
        self.limit = limit
    }

    var count: Int { state.withLock(\.entries.count) }
    var counts: ChainCacheCounts { state.withLock(\.counts) }

    /// The cached chain of exactly this header, if it is also valid at `time`.
    func chain(for headerSegment: [UInt8], at time: Int64) -> SigningChain? {
        state.withLock { state in
            guard let chain = state.use(headerSegment), chain.validity.contains(time) else {
                state.counts.misses += 1
                return nil
            }
            state.counts.hits += 1
            return chain
        }
    }

    /// The chains that were used since the last call.
    func takeUsed() -> [SigningChain] {
        state.withLock { state in
            defer { for index in state.entries.indices { state.entries[index].isUsed = false } }
            return state.entries.filter(\.isUsed).map(\.chain)
        }
    }

    /// Stores a chain after a signature below it was verified; evicts the least recently used one.
    func insert(_ chain: SigningChain, for headerSegment: [UInt8]) {
        guard limit > 0 else { return }
        state.withLock { state in
            state.entries.removeAll { $0.matches(headerSegment) }
            if state.entries.count >= limit { state.entries.removeLast(state.entries.count - limit + 1) }
            state.entries.insert(Entry(headerSegment: headerSegment, chain: chain), at: 0)
        }
    }
}

/// Hits and misses of the chain cache.
package struct ChainCacheCounts: Hashable, Sendable {
    /// Lookups of a cached, valid chain: only one signature was verified.
    package internal(set) var hits = 0
    /// Lookups that required parsing the certificates and validating the chain.
    package internal(set) var misses = 0
}

/// A certificate and the one that issued it.
package struct IssuedCertificate: Hashable, Sendable {
    package let certificate: Certificate
    package let issuer: Certificate

    package init(_ certificate: Certificate, issuer: Certificate) {
        self.certificate = certificate
        self.issuer = issuer
    }
}
