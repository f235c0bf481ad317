package import AppStore
package import FoundationEssentials
import OpenSSL

/// The number of an order that no appAccountToken names: a version 5 UUID (RFC 9562 section 5.5) of the paid period, so that every
/// system and every run finds the same one.
package enum OrderNumber {
    /// The namespace of all such numbers. Changing it would double every order.
    static let namespace = UUID(uuid: (0x6f, 0x2b, 0x0f, 0x0e, 0x53, 0x1d, 0x4c, 0x8a, 0x9d, 0x5e, 0x1c, 0x6e, 0x0a, 0x77, 0x41, 0xc3))

    /// For one period of a subscription.
    package static func ofPeriod(environment: AppStoreEnvironment, originalTransactionID: String, webOrderLineItemID: String) -> UUID {
        derive(["period", environment.rawValue, originalTransactionID, webOrderLineItemID])
    }

    /// For a charge of a product without periods.
    package static func ofCharge(environment: AppStoreEnvironment, transactionID: String) -> UUID {
        derive(["charge", environment.rawValue, transactionID])
    }

    /// Joins the words with a byte that no verified fact contains: NUL is refused before the ledger.
    private static func derive(_ words: [String]) -> UUID {
        let name = words.joined(separator: "\u{0}")
        let digest = Digest.sha1(withUnsafeBytes(of: namespace.uuid) { Array($0) } + Array(name.utf8))
        let version = (digest[6] & 0x0f) | 0x50
        let variant = (digest[8] & 0x3f) | 0x80
        return UUID(
            uuid: (
                digest[0], digest[1], digest[2], digest[3], digest[4], digest[5], version, digest[7],
                variant, digest[9], digest[10], digest[11], digest[12], digest[13], digest[14], digest[15]
            )
        )
    }
}
