import AppStore
import EndToEndTesting
import Foundation
import StoreSimulator
import StrictJSON
import Testing

extension EndToEnd {
    /// Receipts that the shop's backend posts for clients of StoreKit 1.
    @Suite struct ReceiptPostTests {
        @Test func `two accounts on one Apple ID each own their purchases`() async throws {
            var legacy = try LegacyShop()
            let now = Timestamp(millisecondsSince1970: Int64(Date().timeIntervalSince1970 * 1000))
            var life = legacy.shop.makeCustomer()
            life.advance(to: now.advanced(by: .seconds(-3600)))
            let first = try #require(try life.subscribe(to: legacy.shop.plan).transactionID)
            let once = try #require(life.catalogue.oneTimeProducts.first { $0.type == .nonConsumable })
            let firsts = try legacy.receipt(of: life).text
            life.advance(by: .seconds(600))
            let second = try #require(try life.buy(once).transactionID)
            let seconds = try legacy.receipt(of: life).text
            try await Installation.lend { installation in
                let (_, api) = try await installation.startIngestWithAPI()
                _ = try await legacy.startWorker(in: installation)
                let backend = try await installation.makeBackend(api, ["--app", legacy.shop.app.bundleID])

                let bought = try await backend.submit(receipt: firsts, user: "ann", naming: first)
                #expect(bought.status == 200)
                #expect(try finish(bought) == [first])
                #expect(try await backend.usable(by: "ann") == [legacy.shop.plan.id])

                // Naming another user's purchase is answered with a conflict and nothing else.
                let stolen = try await backend.submit(receipt: seconds, user: "ben", naming: first)
                #expect(stolen.status == 409)
                #expect(stolen.problem == "owner-conflict")
                // The receipt also contained the other purchase, which had no owner.
                let named = try await backend.submit(receipt: seconds, user: "ben", naming: second)
                #expect(named.status == 200)
                let owners = try named.document().documents("transactions").compactMap { $0.text("owner") }
                #expect(owners.sorted() == ["another", "you"])
                #expect(try finish(named).sorted() == [first, second].sorted())
                #expect(try await backend.usable(by: "ben") == [once.id])
                #expect(try await backend.usable(by: "ann") == [legacy.shop.plan.id])
            }
        }

        private func finish(_ answer: HTTPAnswer) throws -> [String] {
            guard case .array(let ids)? = try answer.document().object["finish"] else { return [] }
            return ids.compactMap { if case .string(let id) = $0 { id } else { nil } }
        }
    }
}

extension ShopBackend {
    /// Posts the receipt of a client of this user, and waits for the outcome.
    func submit(receipt: String, user: String, naming transactionID: String?) async throws -> HTTPAnswer {
        var object: JSONObject = ["receiptData": .string(receipt), "user": .string(user)]
        object["transactionId"] = transactionID.map { .string($0) }
        return try await send("POST", "/v1/receipts?wait=10", object)
    }
}
