import AppStore
import Foundation
import StrictJSON
import Testing

struct MultiSeatTests {
    private static func transaction(_ tiers: JSONValue) -> JWSTransactionDecodedPayload {
        JWSTransactionDecodedPayload(decoding: ["quantity": 8, "price": 9240, "multiSeatInfo": ["priceTiers": tiers]])
    }

    /// Seven seats, of which five cost 9.99 and the others 7.99. Their average price is 9.419, which times seven is three too many.
    @Test func `seats cost the sum of their tiers, whatever the average price is`() throws {
        let transaction: JSONObject = ["quantity": 7, "price": 9419, "multiSeatInfo": .object(SamplePayload.transactionSeats)]
        #expect(try JWSTransactionDecodedPayload(transaction).multiSeatInfo?.total == 65_930)
        let renewal: JSONObject = ["multiSeatInfo": .object(SamplePayload.renewalSeats)]
        #expect(try JWSRenewalInfoDecodedPayload(renewal).multiSeatInfo?.total == 49_950)
    }

    @Test(
        arguments: [
            ([["price": 9990, "quantity": 5], ["price": "7.99", "quantity": 3]], "multiSeatInfo.priceTiers[1].price"),
            ([["price": 9990, "quantity": 5], ["price": 7990, "seats": 3]], "multiSeatInfo.priceTiers[1]"),
            ([["price": 9990, "quantity": 5], 7], "multiSeatInfo.priceTiers[1]"),
            ([["price": .integer(Int64.max), "quantity": 2]], "multiSeatInfo.priceTiers"),
            ([["price": .integer(Int64.max), "quantity": 1], ["price": 1, "quantity": 1]], "multiSeatInfo.priceTiers"),
        ] as [(JSONValue, String)]
    )
    func `a total that leaves out a tier is none, and the tier is noted`(tiers: JSONValue, path: String) {
        let transaction = Self.transaction(tiers)
        #expect(transaction.multiSeatInfo != nil && transaction.multiSeatInfo?.total == nil)
        #expect(transaction.odd.map(\.path) == [path])
        #expect(transaction.quantity == 8 && transaction.price == 9240)
    }

    @Test func `seats without tiers have no total`() {
        for tiers in [.null, []] as [JSONValue] {
            #expect(Self.transaction(tiers).multiSeatInfo?.total == nil && Self.transaction(tiers).odd.isEmpty)
        }
    }

    @Test func `a seat that is not named by a UUID is noted, and the others are unclaimed`() {
        let info = UnclaimInfo(decoding: ["unclaimSeatIds": ["0C9A35A9-1e1a-4d9e-9c38-6c1f6a4d2b10", "7", 7]])
        #expect(info.unclaimSeatIds?.map { $0.uuidString.lowercased() } == ["0c9a35a9-1e1a-4d9e-9c38-6c1f6a4d2b10"])
        #expect(info.odd.map(\.path) == ["unclaimSeatIds[1]", "unclaimSeatIds[2]"])
    }
}
