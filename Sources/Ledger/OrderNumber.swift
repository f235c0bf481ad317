package import AppStore
package import FoundationEssentials

/// The number of an order that no appAccountToken names: a version 8 UUID (RFC 9562 section 5.8) of the paid period. Every system and every
/// run derives the same one. Apps derive tokens of version 5, so that a number of this version would not be told from a token.
package enum OrderNumber {
    /// The namespace of all such numbers. A change would duplicate every order.
    static let namespace = UUID(uuid: (0x6f, 0x2b, 0x0f, 0x0e, 0x53, 0x1d, 0x4c, 0x8a, 0x9d, 0x5e, 0x1c, 0x6e, 0x0a, 0x77, 0x41, 0xc3))

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
