import AppStore
import StoreSimulator
import StrictJSON
import Testing

/// Transaction History and Refund History.
struct ServerAPITransactionHistoryTests {
    /// Reads pages from a revision on.
    private func walk(_ scene: inout APIScene, _ target: String, from revision: String? = nil) throws -> (
        pages: [[String]], revision: String
    ) {
        var (pages, revision) = ([[String]](), revision)
        while true {
            let query = revision.map { (target.contains("?") ? "&" : "?") + "revision=\($0)" } ?? ""
            let answer = try scene.ask("GET", target + query)
            pages.append(try answer.ids)
            revision = try #require(answer.json["revision"]?.string)
            guard answer.json["hasMore"]?.bool == true else { return (pages, revision ?? "") }
        }
    }

    @Test func `history has twenty transactions a page, and its last revision later gives only what is new`() throws {
        var scene = try APIScene()
        var life = try scene.buyer(45)
        let target = "/inApps/v2/history/\(life.chargeIDs[7])"
        let first = try walk(&scene, target)
        #expect(first.pages.map(\.count) == [20, 20, 5] && Array(first.pages.joined()) == life.chargeIDs)
        #expect(try walk(&scene, target, from: first.revision).pages == [[]])
        #expect(try walk(&scene, target, from: first.revision).revision == first.revision)
        _ = try life.refund(life.chargeIDs[3])
        scene.api.hold(life, at: scene.now)
        #expect(try walk(&scene, target, from: first.revision).pages == [[life.chargeIDs[3]]])
        #expect(try walk(&scene, "\(target)?sort=DESCENDING").pages.first?.first == life.chargeIDs[3])
        #expect(try walk(&scene, "\(target)?sort=DESCENDING").pages.joined().count == 45)
    }

    @Test func `a revision is for one customer and one set of parameters`() throws {
        var scene = try APIScene()
        let (life, other) = (try scene.buyer(21), try scene.buyer(1))
        let revision = try #require(try scene.ask("GET", "/inApps/v2/history/\(life.chargeIDs[0])").json["revision"]?.string)
        #expect(try scene.ask("GET", "/inApps/v2/history/\(life.chargeIDs[1])?revision=\(revision)").ids == [life.chargeIDs[20]])
        let wrong = ["\(life.chargeIDs[0])?sort=DESCENDING&revision=\(revision)", "\(other.chargeIDs[0])?revision=\(revision)"]
        for target in wrong + ["\(life.chargeIDs[0])?revision=revision_input"] {
            #expect(try scene.ask("GET", "/inApps/v2/history/\(target)").code == 4_000_005)
        }
    }

    @Test func `filters select transactions`() throws {
        var scene = try APIScene()
        var life = try scene.buyer(3)
        let lifetime = try #require(life.catalogue.oneTimeProducts.first { $0.type == .nonConsumable })
        _ = try life.buy(lifetime)
        _ = try life.subscribe()
        _ = try life.refund(life.chargeIDs[1])
        scene.api.hold(life, at: scene.now)
        let (ids, subscription) = (life.chargeIDs, try #require(life.subscription))
        func found(_ query: String) throws -> Set<String> {
            var scene = scene
            return Set(try scene.ask("GET", "/inApps/v2/history/\(ids[0])?\(query)").ids)
        }
        let second = life.oneTimeCharges[1].purchaseDate.millisecondsSince1970
        #expect(try found("productType=NON_CONSUMABLE&productType=AUTO_RENEWABLE") == [ids[3], subscription.originalTransactionID])
        #expect(try found("productId=\(lifetime.id)") == [ids[3]])
        #expect(try found("subscriptionGroupIdentifier=21752814") == [subscription.originalTransactionID])
        #expect(try found("revoked=true") == [ids[1]])
        #expect(try found("inAppOwnershipType=FAMILY_SHARED").isEmpty)
        #expect(try found("startDate=\(second)&endDate=\(second + 1)") == [ids[1]])
        #expect(try found("endDate=\(second)") == [ids[0]])
    }

    @Test func `a member of a group has assigned transactions`() throws {
        var scene = try APIScene()
        var life = scene.store.makeCustomer()
        try life.takeSeat(SeatAssignment(seats: SeatTerms(5)))
        let id = try #require(try life.subscribe().transactionID)
        _ = try life.revoke()
        scene.api.hold(life, at: scene.now)
        #expect(try scene.ask("GET", "/inApps/v2/history/\(id)?inAppOwnershipType=ASSIGNED").ids == [id])
        #expect(try scene.ask("GET", "/inApps/v2/history/\(id)?inAppOwnershipType=PURCHASED").ids == [])
        #expect(try scene.ask("GET", "/inApps/v2/refund/lookup/\(id)").ids == [])
    }

    @Test(arguments: [
        ("startDate=x", 4_000_015), ("endDate=x", 4_000_016), ("startDate=2&endDate=1", 4_000_013), ("sort=UP", 4_000_021),
        ("productType=CAR", 4_000_022), ("productId=", 4_000_023), ("subscriptionGroupIdentifier=", 4_000_024),
        ("inAppOwnershipType=MINE", 4_000_026), ("revoked=False", 4_000_030),
    ])
    func `wrong parameters are refused with their codes`(query: String, code: Int64) throws {
        var scene = try APIScene()
        let life = try scene.buyer(1)
        #expect(try scene.ask("GET", "/inApps/v2/history/\(life.chargeIDs[0])?\(query)").code == code)
    }

    @Test func `refunds come by their time, and a revision continues behind them`() throws {
        var scene = try APIScene()
        var life = try scene.buyer(24)
        for id in life.chargeIDs.reversed().prefix(22) {
            life.advance(by: .seconds(60))
            _ = try life.refund(id)
        }
        scene.api.hold(life, at: scene.now)
        let target = "/inApps/v2/refund/lookup/\(life.appTransactionID)"
        let first = try walk(&scene, target)
        #expect(first.pages.map(\.count) == [20, 2] && Array(first.pages.joined()) == Array(life.chargeIDs.reversed().prefix(22)))
        life.advance(by: .seconds(60))
        _ = try life.refund(life.chargeIDs[0])
        scene.api.hold(life, at: scene.now)
        #expect(try walk(&scene, target, from: first.revision).pages == [[life.chargeIDs[0]]])
        #expect(try scene.ask("GET", "\(target)?revision=x").code == 4_000_005)
    }
}
