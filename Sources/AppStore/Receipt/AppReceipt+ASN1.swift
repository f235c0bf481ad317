extension AppReceipt {
    /// Reads the content of a receipt, which is what its signature is over.
    ///
    /// Of an attribute that comes twice the first counts, and the other is kept with the unknown ones. An attribute that matters must be
    /// of the type that it always was. Memory is bounded by the content's size.
    package init(content: [UInt8]) throws(MalformedReceipt) {
        self.init()
        try content.withUnsafeBufferPointer { bytes throws(MalformedReceipt) in try read(BERReader(bytes)) }
    }

    /// When a receipt says that it was made, without reading more than that; nil when it does not say.
    ///
    /// It is needed before anything vouches for the content, because the certificates are judged at this date. Nothing is kept of what is
    /// passed over, so that content that turns out to be forged has cost one look at its tags.
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

    /// What the books rest on: where these cannot be read, nothing of the receipt is taken. The others are kept as they are.
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

    /// Text; empty is absent.
    static func text(_ path: String, _ value: inout BERReader) throws(MalformedReceipt) -> String? {
        if value.isAtEnd { return nil }
        let text = try reading(path) { () throws(ASN1Error) in try value.readText() }
        return text.isEmpty ? nil : text
    }

    /// A date; empty is absent.
    static func date(_ path: String, _ value: inout BERReader) throws(MalformedReceipt) -> Timestamp? {
        if value.isAtEnd { return nil }
        return try reading(path) { () throws(ASN1Error) in try value.readDate() }
    }

    /// A number that names something; 0 is absent.
    static func number(_ path: String, _ value: inout BERReader) throws(MalformedReceipt) -> Int64? {
        let number = try integer(path, &value)
        return number == 0 ? nil : number
    }

    /// An integer, absent when there is no value at all.
    static func integer(_ path: String, _ value: inout BERReader) throws(MalformedReceipt) -> Int64? {
        if value.isAtEnd { return nil }
        return try reading(path) { () throws(ASN1Error) in try value.readInteger() }
    }
}
