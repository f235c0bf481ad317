internal import Glibc
internal import OpenSSL
import Synchronization

/// The chains that were verified lately, by the header that carried them.
///
/// Apple signs with a handful of leaf certificates at a time, so that a list in the order of last use, searched from the front, beats a
/// hash of five kilobytes. Only what a genuine signature vouches for gets in, hence nobody whom the roots do not vouch for can make it
/// turn over.
final class ChainCache: Sendable {
    private struct Entry {
        let headerSegment: [UInt8]
        let chain: SigningChain

        /// `==` on arrays compares byte by byte: ten times slower for a header.
        func isOf(_ segment: [UInt8]) -> Bool {
            headerSegment.count == segment.count && memcmp(headerSegment, segment, segment.count) == 0
        }
    }

    private struct State {
        var entries: [Entry] = []
        var counts = ChainCacheCounts()

        /// What this header was found to carry, which is then the one used last.
        mutating func use(_ headerSegment: [UInt8]) -> SigningChain? {
            guard let index = entries.firstIndex(where: { $0.isOf(headerSegment) }) else { return nil }
            if index > 0 { entries.insert(entries.remove(at: index), at: 0) }
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

    /// The chain that exactly this header, byte for byte, was found to carry, when it is valid at `time` too.
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

    /// Remembers a chain below which a genuine signature was found; forgets the one that was not used for the longest time.
    func insert(_ chain: SigningChain, for headerSegment: [UInt8]) {
        guard limit > 0 else { return }
        state.withLock { state in
            state.entries.removeAll { $0.isOf(headerSegment) }
            if state.entries.count >= limit { state.entries.removeLast(state.entries.count - limit + 1) }
            state.entries.insert(Entry(headerSegment: headerSegment, chain: chain), at: 0)
        }
    }
}

/// How often a chain was looked up.
package struct ChainCacheCounts: Hashable, Sendable {
    /// It was there and valid: one signature to verify.
    package internal(set) var hits = 0
    /// The certificates had to be read and their chain verified.
    package internal(set) var misses = 0
}

extension Verifier {
    /// How often the chain of a JWS was looked up so far.
    package var chainCacheCounts: ChainCacheCounts { signatures.cache.counts }
}
