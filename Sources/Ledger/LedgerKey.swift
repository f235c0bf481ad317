package import AppStore
package import FoundationEssentials
import OpenSSL

/// The key of a row of the ledger: one of Apple's ids within one environment, so that Sandbox never touches Production.
package struct LedgerKey: Hashable, Comparable, Sendable {
    package let environment: AppStoreEnvironment
    package let id: String

    package init(environment: AppStoreEnvironment, id: String) {
        self.environment = environment
        self.id = id
    }

    package static func < (left: LedgerKey, right: LedgerKey) -> Bool {
        (left.environment.rawValue, left.id) < (right.environment.rawValue, right.id)
    }
}

/// The identity of a notification, the same for each delivery of it.
package struct NotificationKey: Hashable, Sendable {
    package let environment: AppStoreEnvironment
    package let uuid: UUID

    package init(environment: AppStoreEnvironment, uuid: UUID) {
        self.environment = environment
        self.uuid = uuid
    }
}

extension UUID {
    /// The namespace of derived notificationUUIDs. A change would record effects a second time.
    private static let notificationNamespace = UUID(
        uuid: (0x9b, 0x1f, 0x6d, 0x52, 0x0c, 0xe8, 0x4a, 0x13, 0xa7, 0x64, 0x58, 0x2e, 0xf3, 0x91, 0xd0, 0x4b)
    )

    /// Parses a notificationUUID in upper or lower case. Any other text gives a version 5 UUID: such an event fails neither itself nor its
    /// batch, and equal texts are the same notification.
    package init(notification text: String) {
        self = UUID(uuidString: text) ?? UUID(version5In: Self.notificationNamespace, words: [text])
    }
}

/// The number of an order that no appAccountToken names: a version 8 UUID (RFC 9562 section 5.8) of the paid period. Every system and every
/// run derives the same one. Apps derive tokens of version 5, so that a number of this version would not be told from a token.
package enum OrderNumber {
    /// The namespace of all such numbers. A change would duplicate every order.
    private static let namespace = UUID(
        uuid: (0x6f, 0x2b, 0x0f, 0x0e, 0x53, 0x1d, 0x4c, 0x8a, 0x9d, 0x5e, 0x1c, 0x6e, 0x0a, 0x77, 0x41, 0xc3)
    )

    /// For one period of a subscription.
    package static func ofPeriod(environment: AppStoreEnvironment, originalTransactionID: String, webOrderLineItemID: String) -> UUID {
        derive(["period", environment.rawValue, originalTransactionID, webOrderLineItemID])
    }

    /// For a product without periods, by its first transaction.
    package static func ofCharge(environment: AppStoreEnvironment, transactionID: String) -> UUID {
        derive(["charge", environment.rawValue, transactionID])
    }

    /// The order or user that an appAccountToken names. Nil for version 8 UUIDs: derived numbers have this version, and a client could compute
    /// one.
    package static func named(by appAccountToken: UUID?) -> UUID? {
        appAccountToken.flatMap { $0.uuid.6 >> 4 == 8 ? nil : $0 }
    }

    private static func derive(_ words: [String]) -> UUID { UUID(digestOf: words, in: namespace, version: 8) }
}

extension EffectKey {
    /// The namespace of the ids of effects. A change would record every effect a second time.
    private static let namespace = UUID(
        uuid: (0x2d, 0x9c, 0x41, 0x7b, 0x6a, 0x0e, 0x4f, 0x35, 0x8b, 0x57, 0xd1, 0x94, 0x3e, 0xc2, 0x60, 0xaf)
    )

    /// A version 5 UUID of environment, kind and subject: the same in every installation and after any replay.
    package var id: UUID { UUID(version5In: Self.namespace, words: [environment.rawValue, kind.rawValue, subject]) }
}

extension UUID {
    /// A name-based UUID (RFC 9562 section 5.5) of words, joined with NUL, which no verified fact contains.
    fileprivate init(version5In namespace: UUID, words: [String]) {
        self.init(digestOf: words, in: namespace, version: 5)
    }

    /// The same with another version in its place.
    fileprivate init(digestOf words: [String], in namespace: UUID, version: UInt8) {
        let name = words.joined(separator: "\u{0}")
        let digest = Digest.sha1(withUnsafeBytes(of: namespace.uuid) { Array($0) } + Array(name.utf8))
        let versioned = (digest[6] & 0x0f) | (version << 4)
        let variant = (digest[8] & 0x3f) | 0x80
        self.init(
            uuid: (
                digest[0], digest[1], digest[2], digest[3], digest[4], digest[5], versioned, digest[7],
                variant, digest[9], digest[10], digest[11], digest[12], digest[13], digest[14], digest[15]
            )
        )
    }
}

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
