import AppStore
import HTTPServingTesting
import InboxTesting
import Postgres
import Testing

/// `/v1/consumption` and `/v1/users/{user}/consent`.
@Suite(.timeLimit(.minutes(2)))
struct ConsumptionTests {
    private static let path = "/v1/consumption/Production/70"
    private static let answer = #"{"consented":true,"delivery":"DELIVERED","sample":false,"preference":"DECLINE","evidence":"terms 7"}"#

    /// Apple asked an hour ago about charges 70 and, in Sandbox, 71.
    private static func run(_ body: (RunningAPI, TestKey) async throws -> Void) async throws {
        try await RunningAPI.run { api in
            try await api.database.addCharge("70")
            try await api.database.addCharge("71", environment: .sandbox)
            try await api.database.change("SELECT appstore.link_owner('Production', '70', 'ann')")
            for (environment, charge) in [("Production", "70"), ("Sandbox", "71")] {
                try await api.database.change(
                    """
                    INSERT INTO appstore.refund_requests
                        (environment, notification_uuid, kind, transaction_id, original_transaction_id, reason, signed_date)
                    VALUES (\(environment)::text::appstore.environment, gen_random_uuid(), 'asked', \(charge), \(charge), 'OTHER',
                            now() - interval '1 hour')
                    """
                )
                try await api.database.change(
                    "SELECT appstore.derive_refund_requests(\(environment)::text::appstore.environment, ARRAY[\(charge)])"
                )
            }
            try await api.database.change(
                "INSERT INTO appstore.consumption_policies (bundle_id, mode) VALUES ('com.example.tides', 'backend')"
            )
            try await body(api, try await api.makeKey())
        }
    }

    private func states(_ api: RunningAPI, _ key: TestKey, _ query: String = "") async throws -> [String?] {
        let answer = try await api.exchange("GET", "/v1/consumption" + query, key: key)
        #expect(answer.status == 200, "\(answer.body)")
        return try answer.json()["requests"]?.elements.map { $0["state"]?.text } ?? []
    }

    @Test func `a request is listed, decided once however often it is sent, and shown with its decision`() async throws {
        try await Self.run { api, key in
            #expect(try await states(api, key) == ["waiting"])
            #expect(try await states(api, key, "?state=decided") == [])
            for _ in 1...2 {
                let answer = try await api.exchange("PUT", Self.path, key: key, json: Self.answer)
                #expect(answer.status == 200, "\(answer.body)")
                let request = try answer.json()
                #expect((request["state"]?.text, request["preference"]?.text) == ("decided", "DECLINE"))
                #expect((request["user"]?.text, request["decidedBy"]?.text) == ("ann", "key \(key.id)"))
                #expect(request["dueAt"]?.text?.hasSuffix("Z") == true)
            }
            #expect(try await states(api, key, "?state=waiting") == [])
            #expect(try await api.database.lines("SELECT count(*)::text FROM appstore.outbox WHERE kind = 'consumption'") == ["1"])
            #expect(try await api.database.lines("SELECT count(*)::text FROM appstore.consumption_decisions") == ["1"])
        }
    }

    @Test(arguments: [
        (#"{"delivery":"DELIVERED","sample":false,"evidence":"x"}"#, "consent"),
        (#"{"consented":true,"delivery":"DELIVERED","sample":false}"#, "consent_unknown"),
        (#"{"consented":true,"delivery":"LOST","sample":false,"evidence":"x"}"#, "delivery"),
        (#"{"consented":true,"delivery":"DELIVERED","sample":false,"percentage":5,"evidence":"x"}"#, "percentage_of_subscription"),
    ])
    func `an answer against a rule is refused with its name`(json: String, rule: String) async throws {
        try await Self.run { api, key in
            let answer = try await api.exchange("PUT", Self.path, key: key, json: json)
            #expect((answer.status, answer.problem, try answer.json()["rule"]?.text) == (422, "consumption-refused", rule))
            #expect(try await states(api, key) == ["waiting"])
        }
    }

    @Test(arguments: [
        (#"{"consented":"yes"}"#, "consented"), (#"{"consented":true,"percentage":1.5}"#, "percentage"),
        (#"{"consented":true,"evidence":""}"#, "evidence"), (#"{"consented":true,"details":[]}"#, "details"),
        (#"{"consented":true,"details":{"a\u0000":1}}"#, "details"), (#"{"consented":true,"details":{"a":["\u0000"]}}"#, "details"),
        (#"{"consented":true,"details":{"a":1e200000}}"#, "details"), (#"{"consented":true,"details":{"a":{"b":0.1e-20000}}}"#, "details"),
    ])
    func `a member of the wrong type is invalid`(json: String, member: String) async throws {
        try await Self.run { api, key in
            let answer = try await api.exchange("PUT", Self.path, key: key, json: json)
            #expect((answer.status, answer.problem, try answer.json()["member"]?.text) == (400, "invalid-member", member))
        }
    }

    @Test func `what cannot be answered is a conflict that says why`() async throws {
        try await Self.run { api, key in
            try await api.database.change("UPDATE appstore.consumption_policies SET mode = 'off'")
            let off = try await api.exchange("PUT", Self.path, key: key, json: Self.answer)
            #expect((off.status, off.problem, try off.json()["rule"]?.text) == (409, "consumption-closed", "policy_off"))
            try await api.database.change("UPDATE appstore.consumption_policies SET mode = 'backend'")
            try await api.database.change("UPDATE appstore.consumption_obligations SET due_at = now()")
            let late = try await api.exchange("PUT", Self.path, key: key, json: #"{"consented":false}"#)
            #expect((late.status, try late.json()["rule"]?.text) == (409, "past_due"))
            #expect(try await states(api, key) == [])
            #expect(try await api.exchange("GET", Self.path, key: key).json()["state"]?.text == "missed")
        }
    }

    @Test func `a consent is given once and withdrawn once`() async throws {
        try await Self.run { api, key in
            let path = "/v1/users/ann/consent"
            let given = try await api.exchange("PUT", path, key: key, json: #"{"evidence":"terms 7"}"#)
            #expect(given.status == 200)
            #expect(try await api.exchange("PUT", path, key: key, json: #"{"evidence":"terms 8"}"#).body == given.body)
            #expect(try await api.exchange("PUT", path, key: key, json: "{}").problem == "invalid-member")
            let json = #"{"consented":true,"delivery":"DELIVERED","sample":true}"#
            #expect(try await api.exchange("PUT", Self.path, key: key, json: json).status == 200)
            #expect(try await api.exchange("DELETE", path, key: key).status == 204)
            #expect(try await api.exchange("DELETE", path, key: key).problem == "no-such-consent")
            #expect(try await api.exchange("GET", Self.path, key: key).json()["state"]?.text == "not_consented")
            let answer = try await api.exchange("PUT", Self.path, key: key, json: Self.answer)
            #expect(try answer.json()["rule"]?.text == "consent_withdrawn")
        }
    }

    @Test func `a key sees and decides only requests of its apps and environments`() async throws {
        try await Self.run { api, _ in
            let other = try await api.makeKey(apps: ["com.example.dunes"])
            #expect(try await states(api, other) == [])
            #expect(try await api.exchange("GET", Self.path, key: other).problem == "no-such-consumption-request")
            #expect(try await api.exchange("PUT", Self.path, key: other, json: Self.answer).problem == "no-such-consumption-request")
            let sandbox = try await api.makeKey(environments: [.sandbox])
            #expect(try await api.exchange("PUT", Self.path, key: sandbox, json: Self.answer).problem == "environment-not-covered")
            #expect(try await states(api, sandbox, "?environment=Sandbox") == ["waiting"])
            #expect(try await api.exchange("GET", "/v1/consumption/Sandbox/71", key: sandbox).status == 200)
            for path in ["/v1/consumption/sandbox/71", "/v1/consumption/Sandbox/70", "/v1/consumption/Xcode/71"] {
                #expect(try await api.exchange("GET", path, key: sandbox).problem == "no-such-consumption-request")
            }
            #expect(try await api.exchange("GET", "/v1/consumption?state=missed", key: other).problem == "invalid-parameter")
            #expect(try await api.database.lines("SELECT count(*)::text FROM appstore.consumption_decisions") == ["0"])
        }
    }
}
