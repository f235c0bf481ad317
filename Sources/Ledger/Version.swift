package import AppStore

/// The place of a fact in the total order by which registers join: first the signed date, then a hash of the content.
///
/// The hash covers decoded payload bytes, never a signature: ECDSA signatures of one payload differ each time.
package struct Version: Hashable, Comparable, Sendable {
    /// When Apple signed the statement, in whole milliseconds.
    package let signedDate: Timestamp
    /// Compared byte by byte when two statements were signed in the same millisecond.
    package let hash: [UInt8]

    package init(signedDate: Timestamp, hash: [UInt8]) {
        self.signedDate = signedDate
        self.hash = hash
    }

    package static func < (left: Version, right: Version) -> Bool {
        if left.signedDate != right.signedDate { return left.signedDate < right.signedDate }
        return left.hash.lexicographicallyPrecedes(right.hash)
    }
}

extension Version {
    /// The greatest hash below this one. A statement that was read in part has it, so that a later version, which reads all of the same
    /// statement, replaces it.
    package static func hashBelow(_ hash: [UInt8]) -> [UInt8] {
        var below = hash
        for index in below.indices.reversed() {
            below[index] &-= 1
            if below[index] != 0xFF { break }
        }
        return below
    }
}
