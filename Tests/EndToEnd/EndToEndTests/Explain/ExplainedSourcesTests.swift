import AppStore
import EndToEndTesting
import Postgres
import StoreSimulator
import StrictJSON
import Testing

extension EndToEnd {
    /// The output of `explain` for unknown types and for events that are no notification.
    @Suite struct ExplainedSourcesTests {
        @Test func `an unknown type is explained by the facts that are merged`() async throws {
            var shop = try Shop()
            var unknown = try shop.purchases(1)[0]
            unknown.type = NotificationTypeV2(rawValue: "GIFT_WRAPPED")
            unknown.subtype = nil
            try await Installation.lend { installation in
                let (sql, ingest) = (installation.sql, try await installation.startIngest())
                _ = try await installation.startWorker(for: shop)
                _ = try await ingest.client.post(shop.body(unknown))
                let event = try await sql.settled(1)[0].eventID
                let explained = try await installation.explain(event, for: shop)
                #expect((explained.json.text("result"), explained.json.text("reason")) == ("unhandled", "unknown_notification"))
                #expect(explained.json.text("meaning")?.hasPrefix("GIFT_WRAPPED: not in the table of this version") == true)
                #expect(explained.charge?.text("standing") == "held")
                #expect(explained.effects == ["granted \(event)"])
            }
        }

        /// Stores the event as `POST /v1/transactions` does.
        @Test(arguments: [("tom", "Production", nil), ("tom", "Sandbox", "request environment wrong_environment")])
        func `a client's transaction is explained with the parameters of the request`(user: String, environment: String, failure: String?)
            async throws
        {
            var shop = try Shop()
            let purchase = try shop.purchases(1)[0]
            let jws = try Self.transaction(in: shop.body(purchase))
            let submission: JSONObject = [
                "signedTransaction": .string(jws), "user": .string(user), "environment": .string(environment), "bundleIds": .null,
            ]
            try await Installation.lend { installation in
                let sql = installation.sql
                try await sql.execute(
                    """
                    WITH stored AS (
                        INSERT INTO appstore.inbox (source, received_at, body)
                        VALUES ('client_transaction', clock_timestamp(), \(JSONSerializer.serialize(submission))) RETURNING *)
                    INSERT INTO appstore.inbox_queue (event_id, run_at, bytes)
                    SELECT event_id, received_at, octet_length(body) FROM stored
                    """
                )
                _ = try await installation.startWorker(for: shop)
                let event = try await sql.settled(1)[0].eventID
                let explained = try await installation.explain(event, for: shop)
                #expect(explained.json.text("source") == "client_transaction")
                #expect(explained.json.text("result") == (failure == nil ? "applied" : "rejected"))
                #expect(explained.json.document("request")?.text("user_id") == user)
                #expect(explained.json.documents("payloads").map { $0.flag("is_genuine") } == [true])
                #expect(explained.failure == failure)
                #expect(explained.effects == (failure == nil ? ["granted \(event)"] : []))
            }
        }

        /// The transaction's JWS in a notification's body.
        private static func transaction(in body: [UInt8]) throws -> String {
            let outer = try JSONParser().parseObject(CompactJWS(NotificationBody.signedPayload(in: body)).payload)
            guard case .object(let data)? = outer["data"], case .string(let jws)? = data["signedTransactionInfo"] else { return "" }
            return jws
        }
    }
}
