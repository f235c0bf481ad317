import AppStore
import CorpusTesting
import StrictJSON
import Testing

/// The decoded payloads that Apple's own library is tested with.
@Suite(.enabled(if: !Corpus.isAbsent, "APPSTORE_INBOX_CORPUS is not set"))
struct AppleFixtureTests {
    @Test(arguments: [
        ("signedNotification", SignedPayloadKind.notification), ("signedSummaryNotification", .notification),
        ("signedConsumptionRequestNotification", .notification), ("signedRescindConsentNotification", .notification),
        ("signedExternalPurchaseTokenNotification", .notification), ("signedExternalPurchaseTokenSandboxNotification", .notification),
        ("signedTransaction", .transaction), ("signedTransactionWithRevocation", .transaction), ("signedRenewalInfo", .renewalInfo),
        ("appTransaction", .appTransaction),
    ])
    func `every member that the program uses is decoded`(name: String, kind: SignedPayloadKind) throws {
        let json = try JSONParser().parseObject(try Corpus.bytes("apple-fixtures/models/\(name).json"))
        #expect(SignedPayloadKind.of(json) == kind)
        let payload: any PayloadObject =
            switch kind {
            case .notification: try ResponseBodyV2DecodedPayload(json)
            case .transaction: try JWSTransactionDecodedPayload(json)
            case .renewalInfo: try JWSRenewalInfoDecodedPayload(json)
            case .appTransaction: try AppTransaction(json)
            }
        let undecoded = Set(PayloadCoverage.unconsumedMembers(of: json, in: payload))
        #expect(undecoded.isSubset(of: ["advancedCommerceInfo"]), "\(undecoded)")
    }
}
