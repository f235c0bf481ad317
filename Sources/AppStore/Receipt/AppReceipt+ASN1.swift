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

    static func reading<Value>(_ path: String, _ read: () throws(ASN1Error) -> Value) throws(MalformedReceipt) -> Value {
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
    static func text(_ path: String, _ value: inout BERReader) throws(MalformedReceipt) -> String? {
        if value.isAtEnd { return nil }
        let text = try reading(path) { () throws(ASN1Error) in try value.readText() }
        return text.isEmpty ? nil : text
    }

    /// A date; nil when empty.
    static func date(_ path: String, _ value: inout BERReader) throws(MalformedReceipt) -> Timestamp? {
        if value.isAtEnd { return nil }
        return try reading(path) { () throws(ASN1Error) in try value.readDate() }
    }

    /// A numeric identifier; nil when 0.
    static func number(_ path: String, _ value: inout BERReader) throws(MalformedReceipt) -> Int64? {
        let number = try integer(path, &value)
        return number == 0 ? nil : number
    }

    /// An integer; nil without a value.
    static func integer(_ path: String, _ value: inout BERReader) throws(MalformedReceipt) -> Int64? {
        if value.isAtEnd { return nil }
        return try reading(path) { () throws(ASN1Error) in try value.readInteger() }
    }
}
