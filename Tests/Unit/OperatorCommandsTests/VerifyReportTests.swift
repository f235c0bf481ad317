import AppStore
import AppStoreVerification
import SignedTesting
import StoreSimulator
import StrictJSON
import Testing

@testable import Commands

/// The report of `verify` on receipts and on bodies that hold them.
struct VerifyReportTests {
    private static func report(
        _ bytes: [UInt8],
        bundleIDs: [String]? = nil,
        environments: Set<AppStoreEnvironment>? = nil,
        appAppleID: Int64? = nil
    ) throws -> VerifyReport {
        let demands = VerifyDemands(
            bundleIDs: bundleIDs,
            environments: environments,
            appAppleID: appAppleID,
            roots: try SignedScene.receiptVerifier().policy.roots
        )
        return try VerifyInput(bytes).report(demands)
    }

    private static func body(_ change: SignedScene.Change = { _ in }) throws -> [UInt8] {
        JSONSerializer.serialize(try LegacyFixture().notification(.didRenew, change))
    }

    @Test func `a binary or base64 receipt is reported with its app, its date and its purchases`() throws {
        let fixture = try LegacyFixture()
        let base64 = try fixture.signed()
        let encoding = try #require(Base64.decodeLoosely(Array(base64.utf8)[...]))
        for input in [Array(base64.utf8), encoding, Array(" \(base64)\n".utf8)] {
            let report = try Self.report(input)
            #expect(report.isValid && report.json.word("kind") == "receipt" && report.json["reason"] == .null)
            guard case .object(let payload)? = report.json["payload"], case .array(let purchases)? = payload["purchases"] else {
                Issue.record("no payload")
                return
            }
            #expect(payload.word("bundleId") == "com.example.app" && payload.word("environment") == "Production")
            #expect(payload.word("creationDate") == "\(fixture.madeAt)" && payload.word("signatureDigest") == "SHA-256")
            #expect(purchases.count == 3)
            guard case .object(let purchase)? = purchases.last else { return }
            #expect(purchase.word("transactionId") == fixture.transactions[2].transactionID && purchase.word("productType") == "3")
            #expect(report.text.hasPrefix("valid: receipt\n") && report.text.contains(fixture.transactions[2].transactionID))
        }
    }

    @Test func `a genuine receipt that misses a condition is invalid`() throws {
        let receipt = Array(try LegacyFixture().signed().utf8)
        let cases: [(VerifyReport, String)] = [
            (try Self.report(receipt, bundleIDs: ["com.example.other"]), "wrong_bundle"),
            (try Self.report(receipt, environments: [.sandbox]), "wrong_environment"),
            (try Self.report(receipt, appAppleID: 43), "wrong_app_apple_id"),
        ]
        for (report, reason) in cases {
            #expect(!report.isValid && report.json.word("reason") == reason && report.json.word("location") == "receipt")
            #expect(report.json.word("kind") == "receipt" && report.json["payload"] == .null)
        }
        #expect(try Self.report(receipt, bundleIDs: ["com.example.app"], environments: [.production], appAppleID: 42).isValid)
        let apples = try VerifyInput(receipt).report(VerifyDemands(bundleIDs: nil, environments: nil, appAppleID: nil, roots: nil))
        #expect(!apples.isValid && apples.json["kind"] == .null)
    }

    @Test func `the receipt of a notification V1 is verified, and not printed`() throws {
        let report = try Self.report(Self.body { $0["password"] = "secret" })
        #expect(report.isValid && report.json.word("kind") == "notification-v1")
        guard case .object(let payload)? = report.json["payload"], case .object(let receipt)? = report.json["receipt"] else {
            Issue.record("no payload")
            return
        }
        #expect(payload.word("notification_type") == "DID_RENEW" && payload.word("password") == "")
        #expect(receipt.word("bundleId") == "com.example.app")
        let printed = String(decoding: JSONSerializer.serialize(report.json), as: UTF8.self)
        #expect(!printed.contains("secret") && printed.contains("characters of a receipt") && printed.utf8.count < 10_000)
        #expect(!report.text.contains("secret"))
    }

    @Test func `a notification V1 is as valid as its receipt`() throws {
        let cases: [(SignedScene.Change, String, String)] = [
            ({ $0["unified_receipt"] = nil }, "receipt_missing", "body"),
            ({ $0["bid"] = "com.example.other" }, "bundle_mismatch", "body"),
            ({ $0["environment"] = "Sandbox" }, "environment_mismatch", "body"),
            ({ $0.change("unified_receipt") { $0["latest_receipt"] = "AAAA" } }, "not_a_receipt", "receipt"),
        ]
        for (change, reason, location) in cases {
            let report = try Self.report(Self.body(change))
            #expect(!report.isValid && report.json.word("reason") == reason && report.json.word("location") == location, "\(reason)")
        }
    }

    @Test(
        arguments: [
            ("{", "not_json"), ("{}", "no_notification_type"), (#"{"signedPayload":1}"#, "no_notification_type"),
            (#"{"signedPayload":"a.b"}"#, "not_a_compact_jws"), ("junk", "unknown_form"), ("a.b", "unknown_form"),
            (#"{ "signature" = "YQ=="; "purchase-info" = "eyB9"; }"#, "transaction_receipt"),
        ]
    )
    func `input that is not Apple's is invalid with the reason`(input: String, reason: String) throws {
        let report = try Self.report(Array(input.utf8))
        #expect(!report.isValid && report.json.word("reason") == reason)
        #expect(report.text.hasPrefix("invalid: \(reason) in "))
    }

    @Test(
        arguments: [
            ("<html><body>", "begins with \"<htm\""), ("0123456789abcdef0123456789abcdef", "begins with \"0123\""),
            ("\u{1}\u{2}\u{ff}", "begins with 01 02 c3 bf"), ("{}", "without the text signedPayload"),
            ("{", "is not valid JSON"), (#"{"signedPayload":"a.b"}"#, "three base64url parts"),
        ]
    )
    func `of input that is nothing of Apple's the report says what was expected, and shows little of it`(
        input: String,
        words: String
    ) throws {
        let report = try Self.report(Array(input.utf8))
        let detail = try #require(report.json.word("detail"))
        #expect(!report.isValid && detail.contains(words), "\(detail)")
        #expect(!input.hasPrefix("0123") || !report.text.contains("01234"))
        if report.json.word("reason") == "unknown_form" {
            #expect(detail.contains("neither a signed payload (three base64url parts") && detail.contains("nor a receipt"))
        }
    }

    @Test func `a notification V2 is reported as JSON and as text`() throws {
        let jws = try SignedScene.signer().sign(SignedScene.trigger(NotificationKind(.didRenew)).notification()).jws
        let report = try Self.report(jws: jws)
        #expect(report.isValid && report.json.word("kind") == "notification" && report.text.contains("DID_RENEW"))
        #expect(report.json["note"] == nil)
    }

    @Test func `the text shows each payload once, under the path that stands in place of its JWS`() throws {
        let future = String(decoding: try SignedScene.signer().sign(["gift": "wrapped"] as JSONObject), as: UTF8.self)
        let jws = try SignedScene.sign(
            SignedScene.trigger(NotificationKind(.didRenew)).notification(),
            outer: { $0["others"] = .array([.string(future)]) },
            data: { $0["signedFutureInfo"] = .string(future) }
        )
        let report = try Self.report(jws: jws)
        #expect(report.isValid)
        let lines = report.text.split(separator: "\n")
        for path in ["data.signedTransactionInfo", "data.signedRenewalInfo", "data.signedFutureInfo", "others[0]"] {
            #expect(lines.count { $0.contains("(see \(path))") } == 1, "\(path)")
        }
        #expect(lines.contains("data.signedTransactionInfo:") && lines.contains("data.signedRenewalInfo:"))
        #expect(lines.contains("data.signedFutureInfo (not verified):") && lines.contains("others[0] (not verified):"))
        #expect(lines.count { $0.hasPrefix("  transactionId: ") } == 1 && lines.count { $0 == "  gift: wrapped" } == 2)
        #expect(lines.allSatisfy { $0.utf8.count < 300 })
    }

    @Test func `a transaction that names no environment is valid, and the report says so`() throws {
        let transaction: JSONObject = [
            "transactionId": "2000", "originalTransactionId": "1000", "bundleId": "com.example.app",
            "signedDate": .integer(SignedScene.now.millisecondsSince1970),
        ]
        let report = try Self.report(jws: SignedScene.signer().sign(transaction))
        #expect(report.isValid && report.json.word("kind") == "transaction")
        #expect(report.json.word("note")?.contains("environment_missing") == true)
        #expect(report.text.hasPrefix("valid: transaction; names no environment, as what was signed before Apple named the environment"))
    }

    private static func report(jws: [UInt8]) throws -> VerifyReport {
        let roots = try SignedScene.verifier().policy.roots
        return try VerifyInput(jws).report(VerifyDemands(bundleIDs: nil, environments: nil, appAppleID: nil, roots: roots))
    }
}
