import AppStore
import CorpusTesting
import StrictJSON
import Testing

/// Decodes payloads that Apple signed.
@Suite(.enabled(if: !SignedSample.areAbsent, "neither APPSTORE_INBOX_CORPUS nor APPSTORE_INBOX_SAMPLES is set"))
struct AppleSamplesTests {
    @Test func `every member of Apple's payloads is decoded`() throws {
        let samples = try SignedSample.all()
        #expect(!samples.isEmpty)
        for sample in samples {
            let text = try sample.jws()
            try expectComplete(text, source: sample.file)
            let body = Array(#"{"signedPayload":""#.utf8) + text + Array("\"}".utf8)
            #expect(try NotificationBody.signedPayload(in: body) == text[...], "\(sample.file)")
        }
    }

    private func expectComplete(_ text: [UInt8], source: String) throws {
        let jws = try CompactJWS(text)
        let header = try jws.decodeHeader()
        #expect(header.alg == "ES256", "\(source)")
        #expect(header.x5c.count == 3, "\(source)")
        #expect(jws.signature.count == 64, "\(source)")
        let json = try JSONParser().parseObject(jws.payload)
        // Neither Apple nor the serializer writes white space, so the round trip restores the bytes.
        #expect(JSONSerializer.serialize(json) == jws.payload, "\(source)")
        let kind = try #require(SignedPayloadKind.of(json), "\(source)")
        let payload = try decode(json, as: kind)
        #expect(PayloadCoverage.unconsumedMembers(of: json, in: payload) == [], "\(source)")
        guard let notification = payload as? ResponseBodyV2DecodedPayload else { return }
        let pair = (try #require(notification.notificationType), notification.subtype)
        #expect(NotificationMatrix.pairs.contains { $0 == pair }, "\(source)")
        for nested in [notification.data?.signedTransactionInfo, notification.data?.signedRenewalInfo].compactMap({ $0 }) {
            try expectComplete(Array(nested.utf8), source: "\(source), nested")
        }
    }

    private func decode(_ json: JSONObject, as kind: SignedPayloadKind) throws -> any PayloadObject {
        switch kind {
        case .notification: try ResponseBodyV2DecodedPayload(json)
        case .transaction: try JWSTransactionDecodedPayload(json)
        case .renewalInfo: try JWSRenewalInfoDecodedPayload(json)
        case .appTransaction: try AppTransaction(json)
        }
    }
}
