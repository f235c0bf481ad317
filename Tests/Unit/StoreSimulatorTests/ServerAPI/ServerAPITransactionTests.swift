import AppStore
import AppStoreVerification
import StoreSimulator
import StrictJSON
import Testing

/// What the simulated API says of transactions.
struct ServerAPITransactionTests {
    @Test func `a transaction is signed when it is asked for`() throws {
        var scene = try APIScene()
        let life = try scene.buyer(1)
        scene.now = scene.now.advanced(byDays: 3)
        let answer = try scene.ask("GET", "/inApps/v1/transactions/\(life.chargeIDs[0])")
        let jws = ArraySlice(try #require(answer.json["signedTransactionInfo"]?.string).utf8)
        let transaction = try #require(Genuine.verifier.verifyTransaction(jws, receivedAt: scene.now).accepted).value
        #expect(transaction.transactionId == life.chargeIDs[0] && transaction.signedDate == scene.now)
        #expect(answer.header("date") == "Fri, 03 Apr 2026 08:00:00 GMT")
    }

    @Test func `wrong identifiers are refused with their codes`() throws {
        var scene = try APIScene()
        let life = try scene.buyer(1)
        #expect(try scene.ask("GET", "/inApps/v1/transactions/abc").code == 4_000_006)
        #expect(try scene.ask("GET", "/inApps/v1/transactions/\(life.appTransactionID)").code == 4_000_048)
        #expect(try scene.ask("GET", "/inApps/v1/transactions/1").code == 4_040_010)
        let other = try scene.ask("GET", "/inApps/v1/transactions/\(life.chargeIDs[0])", in: .sandbox)
        #expect(other.status == 404 && other.code == 4_040_010)
        #expect(try scene.ask("GET", "/inApps/v1/unknown").header("content-type") == "text/html")
    }

    @Test func `the app transaction is signed, and a customer may have none`() throws {
        var scene = try APIScene()
        let life = try scene.buyer(1)
        let target = "/inApps/v1/transactions/appTransactions/\(life.chargeIDs[0])"
        let payload = try #require(try scene.ask("GET", target).json["signedAppTransactionInfo"]?.payload)
        #expect(payload["appTransactionId"]?.string == life.appTransactionID)
        scene.api.hold(life, at: scene.now, hasAppTransaction: false)
        #expect(try scene.ask("GET", target).code == 4_040_019)
    }

    @Test func `an order is found by its number, except in Sandbox`() throws {
        var scene = try APIScene()
        let life = try scene.buyer(2)
        let order = SimulatedServerAPI.orderID(of: life.oneTimeCharges[1])
        let answer = try scene.ask("GET", "/inApps/v1/lookup/\(order)")
        #expect(answer.json["status"]?.integer == 0)
        #expect(try answer.ids == [life.chargeIDs[1]])
        #expect(try scene.ask("GET", "/inApps/v1/lookup/W002182").json["status"]?.integer == 1)
        #expect(try scene.ask("GET", "/inApps/v1/lookup/\(order)", in: .sandbox).status == 404)
    }

    @Test func `statuses name the contract, by any identifier of the customer`() throws {
        var scene = try APIScene()
        var life = try scene.subscriber()
        _ = try life.turnAutoRenewOff()
        _ = try life.expire(.voluntary)
        scene.api.hold(life, at: scene.now)
        scene.now = life.now
        let subscription = try #require(life.subscription)
        for id in [subscription.originalTransactionID, life.appTransactionID] {
            let answer = try scene.ask("GET", "/inApps/v1/subscriptions/\(id)?status=2&status=3")
            #expect(answer.json["bundleId"]?.string == "com.example.app" && answer.json["environment"]?.string == "Production")
            let last = try #require(answer.json["data"]?.list?.first?.object?["lastTransactions"]?.list?.first?.object)
            #expect(last["status"]?.integer == 2 && last["originalTransactionId"]?.string == subscription.originalTransactionID)
            #expect(try last["signedTransactionInfo"]?.payload["signedDate"]?.integer == scene.now.millisecondsSince1970)
            #expect(try last["signedRenewalInfo"]?.payload["autoRenewStatus"]?.integer == 0)
        }
        #expect(try scene.ask("GET", "/inApps/v1/subscriptions/\(life.appTransactionID)?status=1").json["data"]?.list == [])
        #expect(try scene.ask("GET", "/inApps/v1/subscriptions/\(life.appTransactionID)?status=6").code == 4_000_031)
    }

    @Test func `a lagging replica signs an older state now`() throws {
        var scene = try APIScene()
        scene.api.options.replicaLag = .seconds(60)
        var life = try scene.buyer(1)
        let target = "/inApps/v1/transactions/\(life.chargeIDs[0])"
        #expect(try scene.ask("GET", target).code == 4_040_010)
        scene.now = scene.now.advanced(by: .seconds(60))
        _ = try life.refund(life.chargeIDs[0])
        scene.api.hold(life, at: scene.now)
        let old = try #require(try scene.ask("GET", target).json["signedTransactionInfo"]?.payload)
        #expect(old["revocationDate"] == nil && old["signedDate"]?.integer == scene.now.millisecondsSince1970)
        scene.now = scene.now.advanced(by: .seconds(60))
        #expect(try scene.ask("GET", target).json["signedTransactionInfo"]?.payload["revocationDate"] != nil)
    }
}
