import AppStore
import FoundationEssentials
import Handlers
import InboxTesting
import Postgres
import SignedTesting
import StoreSimulator
import Testing

/// What a client posts goes through the same inbox and the same code as a notification.
struct ClientTransactionTests {
    @Test(arguments: [true, false])
    func `a purchase comes by notification or from its client, and the second one finds everything done`(clientFirst: Bool) async throws {
        let post = try ClientPost()
        try await Office.with { office in
            let jws = try SignedScene.signer().sign(post.notification).jws
            let receive = [{ try await office.receive(notification: jws) }, { try await office.receive(client: post.body()) }]
            for step in clientFirst ? receive.reversed() : receive {
                let event = try await step()
                #expect(try await office.outcome(of: event) == "applied")
            }
            #expect(try await office.count(of: "transactions", "orders", "effects", "client_posts") == [1, 1, 1, 1])
            #expect(try await office.database.lines("SELECT user_id FROM appstore.orders") == ["anna"])

            let again = try await office.receive(client: post.body())
            #expect(try await office.outcome(of: again) == "superseded")
        }
    }

    @Test func `the outcome says which charge it was`() async throws {
        let post = try ClientPost()
        try await Office.with { office in
            let event = try await office.receive(client: post.body())
            #expect(try await office.outcome(of: event) == "applied")
            let contract = post.transaction.originalTransactionID
            #expect(
                try await office.labels(of: event) == "- - Production com.example.app \(post.transaction.transactionID) \(contract)"
            )
        }
    }

    @Test func `another's purchase is merged all the same, and answered with owner_conflict`() async throws {
        let token = UUID()
        let post = try ClientPost { $0.appAccountToken = token }
        try await Office.with { office in
            try await office.database.withConnection { connection in
                _ = try await connection.execute("SELECT appstore.create_order('anna', \(post.transaction.product.id), \(token))")
            }
            let berta = try await office.receive(client: post.body(user: "berta"))
            #expect(try await office.outcome(of: berta) == "applied owner_conflict")
            let anna = try await office.receive(client: post.body(user: "anna"))
            #expect(try await office.outcome(of: anna) == "applied")
            #expect(try await office.database.lines("SELECT user_id FROM appstore.orders") == ["anna"])
        }
    }

    @Test func `a purchase that is posted too late is nobody's, and answered with owner_unknown`() async throws {
        let post = try ClientPost()
        let late = post.transaction.purchaseDate.advanced(by: .seconds(72 * 3600) + .milliseconds(1))
        try await Office.with { office in
            let event = try await office.receive(client: post.body(), at: late)
            #expect(try await office.outcome(of: event) == "applied owner_unknown")
            let nobody = try await office.receive(client: post.body(user: nil), at: late)
            #expect(try await office.outcome(of: nobody) == "superseded")
        }
    }

    @Test func `two who post one purchase in one batch are each answered by who came first`() async throws {
        let post = try ClientPost()
        try await Office.with { office in
            let later = try await office.receive(client: post.body(user: "berta"), at: SignedScene.now.advanced(by: .seconds(1)))
            let earlier = try await office.receive(client: post.body(user: "anna"), at: SignedScene.now)
            #expect(try await office.outcome(of: later) == "applied owner_conflict")
            #expect(try await office.outcome(of: earlier) == "applied")
        }
    }

    @Test func `a Sandbox purchase is its poster's in the sandbox only`() async throws {
        let post = try ClientPost(app: SignedScene.sandboxApp)
        try await Office.with { office in
            let event = try await office.receive(client: post.body(environment: .sandbox))
            #expect(try await office.outcome(of: event) == "applied")
            #expect(try await office.database.lines("SELECT DISTINCT environment::text FROM appstore.orders") == ["Sandbox"])
        }
    }

    @Test func `what lacks a member that the books need is unhandled, and says which`() async throws {
        let post = try ClientPost()
        try await Office.with { office in
            let event = try await office.receive(client: post.body(post.jws { $0["purchaseDate"] = nil }))
            #expect(try await office.outcome(of: event) == "unhandled incomplete_transaction:purchaseDate")
            #expect(try await office.count(of: "transactions", "client_posts", "effects") == [0, 0, 0])
        }
    }

    @Test func `what was signed in the future waits`() async throws {
        let post = try ClientPost()
        let tomorrow = JSONValue.timestamp(SignedScene.now.advanced(by: .seconds(86_400)))
        try await Office.with { office in
            let event = try await office.receive(client: post.body(post.jws { $0["signedDate"] = tomorrow }))
            #expect(try await office.outcome(of: event) == "none")
            let waiting = try await office.database.lines("SELECT attempts || ' ' || last_error FROM appstore.inbox_queue")
            #expect(waiting == ["1 signed_in_the_future in signedPayload"])
            #expect(try await office.count(of: "transactions") == [0])
        }
    }
}
