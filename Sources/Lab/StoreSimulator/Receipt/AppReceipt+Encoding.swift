package import AppStore

extension AppReceipt {
    /// The receipt's content as Apple encodes it. Attributes that Apple always writes are empty when they have no value.
    package var encoded: [UInt8] {
        let writer = ASN1Writer(encoding: .der)
        var attributes: [[UInt8]] = []
        func add(_ type: Int64, _ value: [UInt8]) { attributes.append(writer.attribute(type, value)) }
        if let receiptType { add(0, writer.utf8(receiptType.rawValue)) }
        add(1, writer.integer(appItemID ?? 0))
        if let bundleID { add(2, writer.utf8(bundleID)) }
        add(3, writer.utf8(applicationVersion ?? ""))
        add(4, opaqueValue)
        add(5, sha1Hash)
        if let creationDate { add(12, writer.date(creationDate)) }
        add(15, writer.integer(downloadID ?? 0))
        add(16, writer.integer(versionExternalIdentifier ?? 0))
        for purchase in purchases { add(17, purchase.encoded) }
        add(18, writer.date(originalPurchaseDate))
        add(19, writer.utf8(originalApplicationVersion ?? ""))
        if let expirationDate { add(21, writer.date(expirationDate)) }
        attributes += otherAttributes.map { writer.attribute($0.type, version: $0.version, $0.value) }
        return writer.set(attributes)
    }
}

extension InAppPurchase {
    /// The set of attributes in an attribute of type 17.
    var encoded: [UInt8] {
        let writer = ASN1Writer(encoding: .der)
        var attributes: [[UInt8]] = []
        func add(_ type: Int64, _ value: [UInt8]?) {
            if let value { attributes.append(writer.attribute(type, value)) }
        }
        add(1701, quantity.map(writer.integer))
        add(1702, productID.map(writer.utf8))
        add(1703, transactionID.map(writer.utf8))
        add(1704, writer.date(purchaseDate))
        add(1705, originalTransactionID.map(writer.utf8))
        add(1706, writer.date(originalPurchaseDate))
        add(1707, productType.map { writer.integer($0.rawValue) })
        add(1708, writer.date(expiresDate))
        add(1711, writer.integer(webOrderLineItemID.flatMap { Int64($0) } ?? 0))
        add(1712, writer.date(cancellationDate))
        add(1713, isTrialPeriod.map { writer.integer($0 ? 1 : 0) })
        add(1719, isInIntroOfferPeriod.map { writer.integer($0 ? 1 : 0) })
        add(1721, promotionalOfferID.map(writer.utf8))
        attributes += otherAttributes.map { writer.attribute($0.type, version: $0.version, $0.value) }
        return writer.set(attributes)
    }
}

extension ASN1Writer {
    fileprivate func attribute(_ type: Int64, version: Int64 = 1, _ value: [UInt8]) -> [UInt8] {
        sequence(integer(type), integer(version), octetString(value))
    }

    /// To the second, as in receipts; empty for none.
    fileprivate func date(_ date: Timestamp?) -> [UInt8] { ia5(date.map { "\("\($0)".prefix(19))Z" } ?? "") }
}
