/// The content of a StoreKit 1 app receipt: the app, the creation date, and the purchases of one Apple ID.
///
/// A consumable is listed until the app finishes its transaction, any other purchase for ever. The content is untrusted until its signature
/// is verified.
package struct AppReceipt: Hashable, Sendable {
    /// Type 0.
    package var receiptType: ReceiptType?
    /// Type 1, the app's number in the App Store; nil for 0, as in the sandbox.
    package var appItemID: Int64?
    /// Type 2.
    package var bundleID: String?
    /// Type 2 in its encoded form, part of the input of `sha1Hash`.
    package var bundleIDBytes: [UInt8] = []
    /// Type 3: CFBundleVersion on iOS, CFBundleShortVersionString on macOS.
    package var applicationVersion: String?
    /// Type 4, part of the input of `sha1Hash`.
    package var opaqueValue: [UInt8] = []
    /// Type 5: SHA-1 over the device's identifier, the opaque value and the bundle identifier; only the device can check it.
    package var sha1Hash: [UInt8] = []
    /// Type 12: when Apple created the receipt; it versions everything in it.
    package var creationDate: Timestamp?
    /// Type 15; nil for 0.
    package var downloadID: Int64?
    /// Type 16; nil for 0.
    package var versionExternalIdentifier: Int64?
    /// Type 17, one attribute per purchase, in the receipt's order.
    package var purchases: [InAppPurchase] = []
    /// Type 18: when the app was first downloaded.
    package var originalPurchaseDate: Timestamp?
    /// Type 19; `1.0` in the sandbox.
    package var originalApplicationVersion: String?
    /// Type 21, the expiry of a receipt from the Volume Purchase Program.
    package var expirationDate: Timestamp?
    /// All other attributes, in the receipt's order; most types are undocumented.
    package var otherAttributes: [ReceiptAttribute] = []

    package init() {}

    package var environment: AppStoreEnvironment? { receiptType?.environment }
}

/// An undecoded attribute.
package struct ReceiptAttribute: Hashable, Sendable {
    package var type: Int64
    package var version: Int64
    /// The content of its octet string; usually an ASN.1 value.
    package var value: [UInt8]

    package init(type: Int64, version: Int64 = 1, value: [UInt8]) {
        self.type = type
        self.version = version
        self.value = value
    }
}

/// The origin of a receipt: attribute 0, and `receipt_type` in verifyReceipt's answers.
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

    package static let known: Set = [production, productionVPP, productionSandbox, productionVPPSandbox, xcode]

    /// The environment of this type; an unknown type gives an environment of the same name.
    package var environment: AppStoreEnvironment {
        switch self {
        case .production, .productionVPP: .production
        case .productionSandbox, .productionVPPSandbox: .sandbox
        default: AppStoreEnvironment(rawValue: rawValue)
        }
    }
}
