import AppStore
import AppStoreVerification
import Foundation
import OpenSSL
import StoreSimulator
import StrictJSON
import Testing

struct NotificationSignerTests {
    @Test func `the header has exactly alg and three certificates`() throws {
        var store = SimulatedStore.test()
        let jws = try CompactJWS(try Genuine.signer.sign(store.test()).jws)
        let header = try JSONParser().parseObject(try #require(Base64URL.decode(jws.headerSegment)))
        #expect(header.members.map(\.name) == ["alg", "x5c"])
        #expect(try jws.decodeHeader().alg == "ES256")
        #expect(try jws.decodeHeader().x5c == Genuine.authority.get().chain.map(\.der))
    }

    @Test func `the body is what Apple posts`() throws {
        var store = SimulatedStore.test()
        let signed = try Genuine.signer.sign(store.test())
        #expect(try Array(NotificationBody.signedPayload(in: signed.body)) == signed.jws)
    }

    @Test(arguments: [("TEST", 4750), ("ONE_TIME_CHARGE", 11_621), ("DID_RENEW", 18_650)])
    func `a notification is about as large as a real one`(kind: String, bytes: Int) throws {
        let notification = try NotificationTrigger(NotificationKind(kind), app: .testSandbox, now: .testNow, seed: 1).notification()
        let size = try Genuine.signer.sign(notification).jws.count
        #expect(abs(size - bytes) * 20 < bytes, "\(size) bytes instead of about \(bytes)")
    }

    @Test func `signing again gives other bytes for the same payloads`() throws {
        var life = SimulatedStore.test().customer()
        let notification = try life.subscribe()
        let signer = try Genuine.signer
        let first = try signer.sign(notification)
        let second = try signer.sign(notification)
        #expect(first.jws != second.jws)
        let verifier = try Genuine.verifier
        let one = try #require(verifier.verifyNotification(first.jws, receivedAt: life.now).accepted)
        let two = try #require(verifier.verifyNotification(second.jws, receivedAt: life.now).accepted)
        #expect(one.transaction?.payloadHash == two.transaction?.payloadHash)
        #expect(one.renewalInfo?.payloadHash == two.renewalInfo?.payloadHash)
        #expect(one.notification.value.notificationUUID == two.notification.value.notificationUUID)
    }

    @Test func `a retry signed at another instant has the same state`() throws {
        var life = SimulatedStore.test().customer()
        let notification = try life.subscribe()
        let retry = notification.resigned(at: life.now.advanced(by: .seconds(3600)))
        let verified = try #require(
            try Genuine.verifier.verifyNotification(try Genuine.signer.sign(retry).jws, receivedAt: retry.signedDate).accepted
        )
        #expect(verified.notification.signedDate == retry.signedDate)
        #expect(verified.transaction?.signedDate == notification.state?.transaction?.signedDate)
        #expect(verified.notification.value.notificationUUID == notification.notificationUUID.uuidString.lowercased())
    }

    @Test(arguments: Forgery.allCases) func `each forgery is refused with its reason`(forgery: Forgery) throws {
        var life = SimulatedStore.test().customer()
        let forged = try Genuine.signer.forge(try life.subscribe(), forgery)
        let verdict = try Genuine.verifier.verifyNotification(forged.jws, receivedAt: life.now)
        let expected: [Forgery: (VerificationReason, String)] = [
            .payloadAltered: (.signatureInvalid, "signedPayload"),
            .signatureDamaged: (.signatureInvalid, "signedPayload"),
            .transactionAltered: (.signatureInvalid, "data.signedTransactionInfo"),
            .foreignRenewalInfo: (.originalTransactionIDDisagreement, "data.signedRenewalInfo"),
            .nestedTruncated: (.malformedParts, "data.signedTransactionInfo"),
        ]
        #expect(verdict.reason == expected[forgery]?.0)
        #expect(verdict.location == expected[forgery]?.1)
    }

    @Test func `a forgery needs the part that it alters`() throws {
        var store = SimulatedStore.test()
        let test = store.test()
        #expect(throws: SimulationError.self) { try Genuine.signer.forge(test, .transactionAltered) }
    }

    @Test func `a genuine notification of another app is refused`() throws {
        var life = SimulatedStore.test(SimulatedApp(bundleID: "com.example.other", appAppleID: 1)).customer()
        let signed = try Genuine.signer.sign(try life.subscribe())
        #expect(try Genuine.verifier.verifyNotification(signed.jws, receivedAt: life.now).reason == .wrongBundle)
    }

    @Test func `a client's transaction equals the notification's`() throws {
        var life = SimulatedStore.test().customer()
        let notification = try life.subscribe(appAccountToken: UUID())
        let transaction = try #require(notification.transaction)
        let jws = try Genuine.signer.sign(transaction, of: life.app, signedDate: life.now)
        let verified = try #require(try Genuine.verifier.verifyTransaction(jws, receivedAt: life.now).accepted)
        #expect(verified.value.transactionId == notification.transactionID)
        #expect(verified.value.appAccountToken == transaction.appAccountToken)
    }

    @Test func `payloads of 2021 lack later members and are valid`() throws {
        var life = SimulatedStore.test().customer()
        var notification = try life.subscribe()
        notification.shape = .year2021
        let verified = try #require(
            try Genuine.verifier.verifyNotification(try Genuine.signer.sign(notification).jws, receivedAt: life.now).accepted
        )
        #expect(verified.environment == .production)
        #expect(verified.transaction?.value.environment == nil)
        #expect(verified.transaction?.value.transactionReason == nil)
        #expect(verified.renewalInfo?.value.environment == nil)
        #expect(verified.renewalInfo?.value.renewalDate == nil)
    }

    @Test func `signing takes less than a millisecond in a release build`() throws {
        var life = SimulatedStore.test().customer()
        let notification = try life.subscribe()
        let signer = try Genuine.signer
        let elapsed = try ContinuousClock().measure { for _ in 0..<100 { _ = try signer.sign(notification) } }
        #if DEBUG
            #expect(elapsed < .seconds(10))
        #else
            #expect(elapsed < .milliseconds(100))
        #endif
    }
}
