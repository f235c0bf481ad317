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
    }

    private let limit: Int
    private let entries = Mutex<[Entry]>([])

    init(limit: Int) {
        self.limit = limit
    }

    var count: Int { entries.withLock(\.count) }

    /// The chain that exactly this header, byte for byte, was found to carry, when it is valid at `time` too.
    func chain(for headerSegment: [UInt8], at time: Int64) -> SigningChain? {
        entries.withLock { entries in
            guard let index = entries.firstIndex(where: { Self.areEqual($0.headerSegment, headerSegment) }) else { return nil }
            if index > 0 { entries.insert(entries.remove(at: index), at: 0) }
            let chain = entries[0].chain
            return chain.validity.contains(time) ? chain : nil
        }
    }

    /// Remembers a chain below which a genuine signature was found; forgets the one that was not used for the longest time.
    func insert(_ chain: SigningChain, for headerSegment: [UInt8]) {
        guard limit > 0 else { return }
        entries.withLock { entries in
            entries.removeAll { Self.areEqual($0.headerSegment, headerSegment) }
            if entries.count >= limit { entries.removeLast(entries.count - limit + 1) }
            entries.insert(Entry(headerSegment: headerSegment, chain: chain), at: 0)
        }
    }

    /// `==` on arrays compares byte by byte: ten times slower for a header.
    private static func areEqual(_ left: [UInt8], _ right: [UInt8]) -> Bool {
        left.count == right.count && memcmp(left, right, left.count) == 0
    }
}
