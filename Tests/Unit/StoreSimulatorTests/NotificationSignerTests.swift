import AppStore
import AppStoreVerification
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

    @Test(arguments: Forgery.allCases) func `each forgery is refused with its reason`(forgery: Forgery) throws {
        var life = SimulatedStore.test().customer()
        let forged = try Genuine.signer.forge(try life.subscribe(), forgery)
        let verdict = try Genuine.verifier.verifyNotification(forged.jws[...], receivedAt: life.now)
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
}
