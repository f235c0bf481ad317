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

extension AppReceipt {
    /// Decodes the signed content of a receipt.
    ///
    /// A repeated attribute counts once; further occurrences go to `otherAttributes`. Throws for an unreadable essential attribute. Memory is
    /// bounded by the size of the content.
    package init(content: [UInt8]) throws(MalformedReceipt) {
        self.init()
        try content.withUnsafeBufferPointer { bytes throws(MalformedReceipt) in try read(BERReader(bytes)) }
    }

    /// Reads only the creation date; nil when it is absent.
    ///
    /// Verification needs it first, because the certificates must be valid at this date. Forged content costs one pass over its tags: skipped
    /// attributes are not copied.
    package static func creationDate(inContent content: [UInt8]) throws(MalformedReceipt) -> Timestamp? {
        try content.withUnsafeBufferPointer { bytes throws(MalformedReceipt) in
            var attributes = try Self.attributes(in: BERReader(bytes))
            var wasFound = false
            var date: Timestamp?
            while try attributes.withNext({ type, _, value throws(MalformedReceipt) in
                guard type == 12 else { return }
                wasFound = true
                var value = value
                date = try Self.date("receipt_creation_date", &value)
            }) != nil {
                if wasFound { return date }
            }
            return nil
        }
    }

    private static func attributes(in reader: BERReader) throws(MalformedReceipt) -> ReceiptAttributes {
        try reading("") { () throws(ASN1Error) in try ReceiptAttributes(reader) }
    }

    fileprivate static func reading<Value>(_ path: String, _ read: () throws(ASN1Error) -> Value) throws(MalformedReceipt) -> Value {
        do {
            return try read()
        } catch {
            throw MalformedReceipt(path: path, cause: error)
        }
    }

    private mutating func read(_ reader: BERReader) throws(MalformedReceipt) {
        var attributes = try Self.attributes(in: reader)
        var seen: Set<Int64> = []
        while try attributes.withNext({ type, version, value throws(MalformedReceipt) in
            guard type == 17 || seen.insert(type).inserted else {
                otherAttributes.append(ReceiptAttribute(type: type, version: version, value: value.remainder))
                return
            }
            do throws(MalformedReceipt) {
                try take(type, version, value)
            } catch {
                guard !Self.essentialTypes.contains(type) else { throw error }
                otherAttributes.append(ReceiptAttribute(type: type, version: version, value: value.remainder))
            }
        }) != nil {}
    }

    /// The attributes that the ledger depends on: an unreadable one refuses the receipt. Others go to `otherAttributes` when unreadable.
    private static let essentialTypes: Set<Int64> = [0, 2, 12, 17]

    private mutating func take(_ type: Int64, _ version: Int64, _ reader: BERReader) throws(MalformedReceipt) {
        var value = reader
        switch type {
        case 0: receiptType = try Self.text("receipt_type", &value).map(ReceiptType.init)
        case 1: appItemID = try Self.number("app_item_id", &value)
        case 2:
            bundleIDBytes = value.remainder
            bundleID = try Self.text("bundle_id", &value)
        case 3: applicationVersion = try Self.text("application_version", &value)
        case 4: opaqueValue = value.remainder
        case 5: sha1Hash = value.remainder
        case 12: creationDate = try Self.date("receipt_creation_date", &value)
        case 15: downloadID = try Self.number("download_id", &value)
        case 16: versionExternalIdentifier = try Self.number("version_external_identifier", &value)
        case 17:
            do throws(MalformedReceipt) {
                purchases.append(try InAppPurchase(value))
            } catch {
                throw error.inside("in_app[\(purchases.count)]")
            }
        case 18: originalPurchaseDate = try Self.date("original_purchase_date", &value)
        case 19: originalApplicationVersion = try Self.text("original_application_version", &value)
        case 21: expirationDate = try Self.date("expiration_date", &value)
        default: otherAttributes.append(ReceiptAttribute(type: type, version: version, value: value.remainder))
        }
    }

    /// Text; nil when empty.
    fileprivate static func text(_ path: String, _ value: inout BERReader) throws(MalformedReceipt) -> String? {
        if value.isAtEnd { return nil }
        let text = try reading(path) { () throws(ASN1Error) in try value.readText() }
        return text.isEmpty ? nil : text
    }

    /// A date; nil when empty.
    fileprivate static func date(_ path: String, _ value: inout BERReader) throws(MalformedReceipt) -> Timestamp? {
        if value.isAtEnd { return nil }
        return try reading(path) { () throws(ASN1Error) in try value.readDate() }
    }

    /// A numeric identifier; nil when 0.
    fileprivate static func number(_ path: String, _ value: inout BERReader) throws(MalformedReceipt) -> Int64? {
        let number = try integer(path, &value)
        return number == 0 ? nil : number
    }

    /// An integer; nil without a value.
    fileprivate static func integer(_ path: String, _ value: inout BERReader) throws(MalformedReceipt) -> Int64? {
        if value.isAtEnd { return nil }
        return try reading(path) { () throws(ASN1Error) in try value.readInteger() }
    }
}

/// One purchase in an app receipt, from the attributes of type 17xx.
package struct InAppPurchase: Hashable, Sendable {
    /// Type 1701.
    package var quantity: Int64?
    /// Type 1702.
    package var productID: String?
    /// Type 1703.
    package var transactionID: String?
    /// Type 1704.
    package var purchaseDate: Timestamp?
    /// Type 1705; absent in Xcode's receipts.
    package var originalTransactionID: String?
    /// Type 1706.
    package var originalPurchaseDate: Timestamp?
    /// Type 1707, undocumented.
    package var productType: ReceiptProductType?
    /// Type 1708; subscriptions only.
    package var expiresDate: Timestamp?
    /// Type 1711, identifies one period of a subscription; nil for 0, as in other purchases.
    package var webOrderLineItemID: String?
    /// Type 1712: the date of a refund, a revocation or an upgrade; the receipt does not distinguish them.
    package var cancellationDate: Timestamp?
    /// Type 1713.
    package var isTrialPeriod: Bool?
    /// Type 1719.
    package var isInIntroOfferPeriod: Bool?
    /// Type 1721, the identifier of a promotional offer.
    package var promotionalOfferID: String?
    /// All other attributes, in the receipt's order.
    package var otherAttributes: [ReceiptAttribute] = []

    package init() {}
}

/// The kind of a purchased product. Apple does not document the numbers; they were observed in its receipts.
package struct ReceiptProductType: OpenValue {
    package let rawValue: Int64

    package init(rawValue: Int64) {
        self.rawValue = rawValue
    }

    package static let nonConsumable = ReceiptProductType(rawValue: 0)
    package static let consumable = ReceiptProductType(rawValue: 1)
    package static let nonRenewingSubscription = ReceiptProductType(rawValue: 2)
    package static let autoRenewableSubscription = ReceiptProductType(rawValue: 3)

    package static let known: Set = [nonConsumable, consumable, nonRenewingSubscription, autoRenewableSubscription]
}

extension InAppPurchase {
    /// Decodes the value of an attribute of type 17.
    fileprivate init(_ reader: BERReader) throws(MalformedReceipt) {
        var attributes = try AppReceipt.reading("") { () throws(ASN1Error) in try ReceiptAttributes(reader) }
        self.init()
        // One bit for each type that was read.
        var seen: UInt64 = 0
        while try attributes.withNext({ type, version, value throws(MalformedReceipt) in
            let bit: UInt64 = (1701...1764).contains(type) ? 1 << UInt64(type - 1701) : 0
            do throws(MalformedReceipt) {
                if seen & bit == 0, try take(type, value) {
                    seen |= bit
                    return
                }
            } catch {
                guard !Self.essentialTypes.contains(type) else { throw error }
                seen |= bit
            }
            otherAttributes.append(ReceiptAttribute(type: type, version: version, value: value.remainder))
        }) != nil {}
    }

    private static let essentialTypes: ClosedRange<Int64> = 1701...1712

    /// Returns false for an unknown type.
    private mutating func take(_ type: Int64, _ reader: BERReader) throws(MalformedReceipt) -> Bool {
        var value = reader
        switch type {
        case 1701: quantity = try AppReceipt.integer("quantity", &value)
        case 1702: productID = try AppReceipt.text("product_id", &value)
        case 1703: transactionID = try AppReceipt.text("transaction_id", &value)
        case 1704: purchaseDate = try AppReceipt.date("purchase_date", &value)
        case 1705: originalTransactionID = try AppReceipt.text("original_transaction_id", &value)
        case 1706: originalPurchaseDate = try AppReceipt.date("original_purchase_date", &value)
        case 1707: productType = try AppReceipt.integer("type", &value).map(ReceiptProductType.init)
        case 1708: expiresDate = try AppReceipt.date("expires_date", &value)
        case 1711: webOrderLineItemID = try AppReceipt.number("web_order_line_item_id", &value).map { String($0) }
        case 1712: cancellationDate = try AppReceipt.date("cancellation_date", &value)
        case 1713: isTrialPeriod = try AppReceipt.integer("is_trial_period", &value).map { $0 != 0 }
        case 1719: isInIntroOfferPeriod = try AppReceipt.integer("is_in_intro_offer_period", &value).map { $0 != 0 }
        case 1721: promotionalOfferID = try AppReceipt.text("promotional_offer_id", &value)
        default: return false
        }
        return true
    }
}

/// Reads a set of receipt attributes: `SET OF SEQUENCE { type INTEGER, version INTEGER, value OCTET STRING }`.
///
/// Ignores further elements of a sequence, for forward compatibility.
private struct ReceiptAttributes {
    /// A receipt has one attribute per purchase, hundreds at most, and about forty others; a hostile one could have a hundred thousand.
    static let maximumCount = 20_000

    private var elements: BERReader
    private var count = 0

    /// Reads the header of the set and refuses trailing bytes. The set may be wrapped in an octet string.
    init(_ content: BERReader) throws(ASN1Error) {
        var content = content
        if let wrapped = try content.nextIf(.octetString) {
            try content.expectEnd()
            content = content.reader(in: wrapped)
        }
        elements = try content.enter(.set)
        try content.expectEnd()
    }

    /// Calls `body` with the next attribute's type, version and a reader of its value; returns nil at the end.
    mutating func withNext<Value>(
        _ body: (_ type: Int64, _ version: Int64, _ value: BERReader) throws(MalformedReceipt) -> Value
    ) throws(MalformedReceipt) -> Value? {
        guard !elements.isAtEnd else { return nil }
        let result: Result<Value, MalformedReceipt>
        do throws(ASN1Error) {
            guard count < Self.maximumCount else { throw ASN1Error(.tooMany, at: elements.position) }
            count += 1
            var attribute = try elements.enter(.sequence)
            let type = try attribute.readInteger()
            let version = try attribute.readInteger()
            result = try attribute.withOctets { value throws(MalformedReceipt) in try body(type, version, value) }
        } catch {
            throw MalformedReceipt(path: "", cause: error)
        }
        return try result.get()
    }
}

extension BERReader {
    /// A copy of the unread bytes.
    fileprivate var remainder: [UInt8] { Array(bytes[range]) }
}

/// Why a receipt's content is unreadable, and at which attribute.
package struct MalformedReceipt: Error, Hashable, Sendable, CustomStringConvertible {
    /// The attribute: `bundle_id`, `in_app[12].expires_date`; empty for the set of attributes itself.
    package let path: String
    /// The error in it, with an offset in the content.
    package let cause: ASN1Error

    package init(path: String, cause: ASN1Error) {
        self.path = path
        self.cause = cause
    }

    fileprivate func inside(_ outer: String) -> MalformedReceipt {
        MalformedReceipt(path: path.isEmpty ? outer : "\(outer).\(path)", cause: cause)
    }

    package var description: String { path.isEmpty ? "receipt: \(cause)" : "receipt: \(path): \(cause)" }
}
