/// What an app receipt of StoreKit 1 says: the app, when it was made, and the purchases of one Apple ID in it.
///
/// A consumable is in it until the app finishes its transaction, everything else for ever. Nothing here vouches for anything; a receipt is
/// genuine when its signature was verified.
package struct AppReceipt: Hashable, Sendable {
    /// Type 0.
    package var receiptType: ReceiptType?
    /// Type 1, the app's number in the App Store; nil in receipts that write 0, as the sandbox's do.
    package var appItemID: Int64?
    /// Type 2.
    package var bundleID: String?
    /// Type 2 as it is encoded, which is what a device hashes.
    package var bundleIDBytes: [UInt8] = []
    /// Type 3: CFBundleVersion on iOS, CFBundleShortVersionString on macOS.
    package var applicationVersion: String?
    /// Type 4, part of what a device hashes.
    package var opaqueValue: [UInt8] = []
    /// Type 5: SHA-1 over the device's identifier, the opaque value and the bundle identifier; only that device can check it.
    package var sha1Hash: [UInt8] = []
    /// Type 12: when Apple made this receipt; the version of everything in it.
    package var creationDate: Timestamp?
    /// Type 15; nil where 0 is written.
    package var downloadID: Int64?
    /// Type 16; nil where 0 is written.
    package var versionExternalIdentifier: Int64?
    /// Type 17, one each, in the receipt's order.
    package var purchases: [InAppPurchase] = []
    /// Type 18: when the app was first downloaded.
    package var originalPurchaseDate: Timestamp?
    /// Type 19; `1.0` in the sandbox.
    package var originalApplicationVersion: String?
    /// Type 21, when the receipt of an app from the Volume Purchase Program ends.
    package var expirationDate: Timestamp?
    /// All attributes of other types, in the receipt's order: most are undocumented, and some are new.
    package var otherAttributes: [ReceiptAttribute] = []

    package init() {}

    /// The environment that the receipt's type stands for.
    package var environment: AppStoreEnvironment? { receiptType?.environment }
}

/// An attribute as it is encoded.
package struct ReceiptAttribute: Hashable, Sendable {
    package var type: Int64
    package var version: Int64
    /// The content of its octet string; usually an ASN.1 value by itself.
    package var value: [UInt8]

    package init(type: Int64, version: Int64 = 1, value: [UInt8]) {
        self.type = type
        self.version = version
        self.value = value
    }
}

/// Where a receipt comes from: attribute 0, and `receipt_type` in verifyReceipt's answers.
package struct ReceiptType: OpenValue {
    package let rawValue: String

    package init(rawValue: String) {
        self.rawValue = rawValue
    }

    package static let production = ReceiptType(rawValue: "Production")
    package static let productionVPP = ReceiptType(rawValue: "ProductionVPP")
    package static let productionSandbox = ReceiptType(rawValue: "ProductionSandbox")
    package static let productionVPPSandbox = ReceiptType(rawValue: "ProductionVPPSandbox")
    package static let xcode = ReceiptType(rawValue: "Xcode")

    /// The environment in the words of the other payloads; a type that we do not know stands for one of its own name.
    package var environment: AppStoreEnvironment {
        switch self {
        case .production, .productionVPP: .production
        case .productionSandbox, .productionVPPSandbox: .sandbox
        default: AppStoreEnvironment(rawValue: rawValue)
        }
    }
}
