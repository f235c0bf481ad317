import AppStore
import StoreSimulator
import Testing

/// Attributes of unexpected form.
struct ReceiptAttributeTests {
    private static let integer: [UInt8] = [0x02, 0x01, 0x05]

    private func read(_ change: (inout AppReceipt) -> Void) throws -> AppReceipt {
        var receipt = AppReceipt()
        receipt.receiptType = .production
        receipt.creationDate = Timestamp(millisecondsSince1970: 1_000_000)
        receipt.purchases = [InAppPurchase()]
        change(&receipt)
        return try AppReceipt(content: receipt.encoded)
    }

    @Test func `an unreadable attribute that the ledger does not need is kept unparsed`() throws {
        let expiration = ReceiptAttribute(type: 21, value: Self.integer)
        let trial = ReceiptAttribute(type: 1713, value: [0x0c, 0x01, 0x61])
        let receipt = try read {
            $0.otherAttributes = [expiration]
            $0.purchases[0].otherAttributes = [trial]
        }
        #expect(receipt.expirationDate == nil && receipt.otherAttributes == [expiration])
        #expect(receipt.purchases[0].isTrialPeriod == nil && receipt.purchases[0].otherAttributes == [trial])
    }

    @Test(
        arguments: [
            (1702, "product_id"), (1703, "transaction_id"), (1705, "original_transaction_id"), (1701, "quantity"),
        ] as [(Int64, String)]
    ) func `an unreadable attribute that the ledger needs is refused with its name and place`(type: Int64, name: String) {
        let value = type == 1701 ? [0x0c, 0x01, 0x61] : Self.integer
        let error = #expect(throws: MalformedReceipt.self) {
            try read { $0.purchases[0].otherAttributes = [ReceiptAttribute(type: type, value: value)] }
        }
        #expect(error?.path == "in_app[0].\(name)" && error?.cause.code == .unexpectedTag)
    }

    @Test func `of a repeated attribute the first counts, for the chain and for the ledger`() throws {
        let late = ReceiptAttribute(type: 12, value: [0x16, 0x14] + Array("2030-01-01T00:00:00Z".utf8))
        let receipt = try read { $0.otherAttributes = [late] }
        #expect(receipt.creationDate?.millisecondsSince1970 == 1_000_000 && receipt.otherAttributes == [late])
    }

    @Test func `an empty value is nil`() throws {
        let receipt = try read {
            $0.bundleID = nil
            $0.otherAttributes = [ReceiptAttribute(type: 2, value: []), ReceiptAttribute(type: 21, value: [0x16, 0x00])]
            $0.purchases[0].otherAttributes = [ReceiptAttribute(type: 1702, value: [0x0c, 0x00])]
        }
        #expect(receipt.bundleID == nil && receipt.expirationDate == nil && receipt.purchases[0].productID == nil)
    }
}
