import AppStore
import FoundationEssentials
import InboxTesting
import Postgres
import SignedTesting
import StoreSimulator
import StrictJSON
import Testing

/// A client's post takes the same path as a notification, through the inbox and the worker.
struct ClientTransactionTests {
    @Test(arguments: [true, false])
    func `of a purchase's notification and its client's post, the second one changes nothing`(clientFirst: Bool) async throws {
        let post = try ClientPost()
        try await WorkerScene.with { scene in
            let jws = try SignedScene.signer().sign(post.notification).jws
            let receive = [{ try await scene.receive(notification: jws) }, { try await scene.receive(client: post.body()) }]
            for step in clientFirst ? receive.reversed() : receive {
                let event = try await step()
                #expect(try await scene.outcome(of: event) == "applied")
            }
            #expect(try await scene.count(of: "transactions", "orders", "effects", "client_posts") == [1, 1, 1, 1])
            #expect(try await scene.database.lines("SELECT user_id FROM appstore.orders") == ["anna"])

            let again = try await scene.receive(client: post.body())
            #expect(try await scene.outcome(of: again) == "superseded")
        }
    }

    @Test func `the outcome names the charge`() async throws {
        let post = try ClientPost()
        try await WorkerScene.with { scene in
            let event = try await scene.receive(client: post.body())
            #expect(try await scene.outcome(of: event) == "applied")
            let contract = post.transaction.originalTransactionID
            #expect(
                try await scene.labels(of: event) == "- - Production com.example.app \(post.transaction.transactionID) \(contract)"
            )
        }
    }

    @Test func `the purchase of another user is merged, with the reason owner_conflict`() async throws {
        let token = UUID()
        let post = try ClientPost { $0.appAccountToken = token }
        try await WorkerScene.with { scene in
            try await scene.database.withConnection { connection in
                _ = try await connection.execute("SELECT appstore.create_order('anna', \(post.transaction.product.id), \(token))")
            }
            let berta = try await scene.receive(client: post.body(user: "berta"))
            #expect(try await scene.outcome(of: berta) == "applied owner_conflict")
            let anna = try await scene.receive(client: post.body(user: "anna"))
            #expect(try await scene.outcome(of: anna) == "applied")
            #expect(try await scene.database.lines("SELECT user_id FROM appstore.orders") == ["anna"])
        }
    }

    @Test func `a family member's purchase that is posted too late has no owner, with the reason owner_unknown`() async throws {
        let post = try ClientPost()
        let shared = try post.jws { $0["inAppOwnershipType"] = "FAMILY_SHARED" }
        let late = post.transaction.purchaseDate.advanced(by: .seconds(72 * 3600) + .milliseconds(1))
        try await WorkerScene.with { scene in
            let event = try await scene.receive(client: post.body(shared), at: late)
            #expect(try await scene.outcome(of: event) == "applied owner_unknown")
            let withoutUser = try await scene.receive(client: post.body(shared, user: nil), at: late)
            #expect(try await scene.outcome(of: withoutUser) == "superseded")
        }
    }

    @Test func `a purchase that a customer made in the App Store is its first poster's, however late`() async throws {
        try await WorkerScene.with { scene in
            let redeemed = Sale("1000", onDay: -4, price: 0).with { $0.transaction.offer = .codeForThreeMonths }
            try await scene.notify(.subscribed, .initialBuy, of: redeemed)
            #expect(try await scene.orders() == ["1000 - paid"])
            #expect(try await scene.post(redeemed, by: "anna", onDay: -0.1) == "applied")
            #expect(try await scene.orders() == ["1000 anna paid"])
            #expect(try await scene.access(of: "anna") == ["pro.monthly active active 26"])
            #expect(try await scene.post(redeemed, by: "berta", onDay: -0.05) == "applied owner_conflict")
        }
    }

    @Test func `a purchase of a forgotten user is the next user's who posts it, with the reason former_owner_forgotten`() async throws {
        let post = try ClientPost()
        try await WorkerScene.with { scene in
            _ = try await scene.outcome(of: scene.receive(client: post.body(user: "anna")))
            try await scene.database.withConnection { connection in
                _ = try await connection.execute("SELECT appstore.forget('anna')")
                _ = try await connection.execute("UPDATE appstore.forgotten_users SET forgotten_at = '2000-01-01'")
            }
            let berta = try await scene.receive(client: post.body(user: "berta"), at: SignedScene.now.advanced(by: .seconds(1)))
            #expect(try await scene.outcome(of: berta) == "applied former_owner_forgotten")
            let again = try await scene.receive(client: post.body(user: "berta"), at: SignedScene.now.advanced(by: .seconds(2)))
            #expect(try await scene.outcome(of: again) == "superseded")
            let carla = try await scene.receive(client: post.body(user: "carla"), at: SignedScene.now.advanced(by: .seconds(2)))
            #expect(try await scene.outcome(of: carla) == "applied owner_conflict")
        }
    }

    @Test func `of two users who post one purchase in one batch, the first one owns it`() async throws {
        let post = try ClientPost()
        try await WorkerScene.with { scene in
            let later = try await scene.receive(client: post.body(user: "berta"), at: SignedScene.now.advanced(by: .seconds(1)))
            let earlier = try await scene.receive(client: post.body(user: "anna"), at: SignedScene.now)
            #expect(try await scene.outcome(of: later) == "applied owner_conflict")
            #expect(try await scene.outcome(of: earlier) == "applied")
        }
    }

    @Test func `a Sandbox purchase belongs to the posting user only in the Sandbox`() async throws {
        let post = try ClientPost(app: SignedScene.sandboxApp)
        try await WorkerScene.with { scene in
            let event = try await scene.receive(client: post.body(environment: .sandbox))
            #expect(try await scene.outcome(of: event) == "applied")
            #expect(try await scene.database.lines("SELECT DISTINCT environment::text FROM appstore.orders") == ["Sandbox"])
        }
    }

    @Test func `a purchase without a required member is unhandled, and the reason names the member`() async throws {
        let post = try ClientPost()
        try await WorkerScene.with { scene in
            let event = try await scene.receive(client: post.body(post.jws { $0["purchaseDate"] = nil }))
            #expect(try await scene.outcome(of: event) == "unhandled incomplete_transaction:purchaseDate")
            #expect(try await scene.count(of: "transactions", "client_posts", "effects") == [0, 0, 0])
        }
    }

    @Test func `a purchase signed in the future is retried`() async throws {
        let post = try ClientPost()
        let tomorrow = JSONValue.timestamp(SignedScene.now.advanced(by: .seconds(86_400)))
        try await WorkerScene.with { scene in
            let event = try await scene.receive(client: post.body(post.jws { $0["signedDate"] = tomorrow }))
            #expect(try await scene.outcome(of: event) == "none")
            let waiting = try await scene.database.lines("SELECT attempts || ' ' || last_error FROM appstore.inbox_queue")
            #expect(waiting == ["1 signed_in_the_future in signedPayload"])
            #expect(try await scene.count(of: "transactions") == [0])
        }
    }
}
