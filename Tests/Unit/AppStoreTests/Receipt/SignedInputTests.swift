import AppStore
import Testing

struct SignedInputTests {
    @Test(arguments: [
        (" e30.e30.AA\n", "jws"), (#"{"signedPayload":"a.b.c"}"#, "v2"), (#" {"notification_type":"CANCEL"} "#, "v1"),
        (#"{"a":1}"#, "json no_notification_type"), ("{", "json not_json"), ("MIIB", "receipt"), ("nothing", "receipt"), ("", "receipt"),
        (#"{"signature" = "A"; "purchase-info" = "ew==";}"#, "receipt"), ("a.b", "receipt"),
    ]) func `an input is classified by its form`(text: String, kind: String) {
        #expect(Self.kind(SignedInput(Array(text.utf8)[...])) == kind)
    }

    @Test func `bytes of a receipt that equal white space are kept`() {
        let encoding: [UInt8] = [0x30, 0x81, 0x02, 0x20, 0x0a]
        guard case .receipt(let kept) = SignedInput(encoding[...]) else {
            Issue.record("not recognised")
            return
        }
        #expect(kept == encoding[...])
    }

    private static func kind(_ input: SignedInput) -> String {
        switch input {
        case .jws: "jws"
        case .notificationV2: "v2"
        case .notificationV1: "v1"
        case .unknownJSON(let refusal): "json \(refusal.rawValue)"
        case .receipt: "receipt"
        }
    }
}
