import Foundation
import Testing

@testable import Feed

struct WebhookSecretTests {
    private static let master = "a master secret of more than thirty-two bytes"
    private static let other = "another one, of thirty-two bytes or more"
    private let endpointID = UUID(uuid: (0x11, 0x22, 0x33, 0x44, 0x55, 0x66, 0x47, 0x88, 0x99, 0xaa, 0xbb, 0xcc, 0xdd, 0xee, 0xff, 0x00))

    /// The example of Standard Webhooks (libraries/python/tests, spec §"Signature scheme").
    @Test func `scheme v1 is that of Standard Webhooks`() throws {
        let key = try #require(Data(base64Encoded: "MfKQ9r8GKYqrTwjUPD8ILPZIo2LaLaSw"))
        let secret = WebhookSecret(key: Array(key), seed: [UInt8](repeating: 1, count: 32))
        let signature = try secret.signature(
            id: "msg_p5jXN8AQM9LWM0D4loKWxJek",
            timestamp: 1_614_265_330,
            body: Array(#"{"test": 2432232314}"#.utf8)
        )
        #expect(signature.hasPrefix("v1,g0hM9SsE+OTPJTGt/tmIKtSyZlE3uFJELVlNIOLJ1OE= v1a,"))
        #expect(secret.symmetric == "whsec_MfKQ9r8GKYqrTwjUPD8ILPZIo2LaLaSw")
    }

    /// Computed once with Python's hmac: a change would make all receivers refuse.
    @Test func `the secrets of an endpoint are derived from master, endpoint and generation, and never change`() throws {
        let secrets = try WebhookMasters(Self.master).secrets(endpointID: endpointID, generation: 1)
        #expect(secrets.map(\.symmetric) == ["whsec_\(Self.expected.symmetric)"])
        #expect(secrets.map(\.publicKey) == ["whpk_\(Self.expected.publicKey)"])
    }

    private static let expected = (
        symmetric: "rEiagxt0lixSGll8i8bWzK6taWmfjBqnSwdjIHUApEc=", publicKey: "zIKFHlcm4ymkpPKp+aRmWYFvIIZFygTtsc4fxliwzoU="
    )

    @Test func `another endpoint, generation or master has other secrets`() throws {
        let masters = try WebhookMasters("\(Self.master)\n\(Self.other)\n")
        let all = [
            masters.secrets(endpointID: endpointID, generation: 1), masters.secrets(endpointID: endpointID, generation: 2),
            masters.secrets(endpointID: UUID(), generation: 1),
        ].joined()
        #expect(all.count == 6 && Set(all.map(\.symmetric)).count == 6 && Set(all.map(\.publicKey)).count == 6)
    }

    @Test func `spaces and empty lines around a master secret do not count`() throws {
        let plain = try WebhookMasters(Self.master)
        #expect(try WebhookMasters("\r\n  \(Self.master) \t\r\n\n") == plain)
    }

    @Test(arguments: [
        "", "\n \n", "short", String(repeating: "x", count: 31), "\(master)\nshort", "\(master)\n\(other)\n\(master)x",
        "\(master)\n\(master)",
    ])
    func `a file of another form is refused without repeating a secret`(text: String) {
        let error = #expect(throws: WebhookMastersError.self) { try WebhookMasters(text) }
        for line in text.split(whereSeparator: \.isNewline) where line.count > 4 { #expect(error?.description.contains(line) == false) }
    }

    @Test func `what is printed holds no secret`() throws {
        let masters = try WebhookMasters(Self.master)
        let secret = masters.secrets(endpointID: endpointID, generation: 1)[0]
        var dumped = ""
        dump(masters, to: &dumped)
        dump(secret, to: &dumped)
        for text in [dumped, "\(masters)", String(reflecting: masters), "\(secret)", String(reflecting: secret)] {
            #expect(!text.contains("thirty-two bytes") && !text.contains("whsec") && !text.contains("key:"))
        }
    }

    @Test func `an attempt is signed by each secret that is valid`() throws {
        let signer = DeliverySigner(endpointID: endpointID)
        let masters = try WebhookMasters("\(Self.master)\n\(Self.other)")
        let entry = FeedEntry(
            kind: .next,
            position: 1,
            redeliveryID: nil,
            id: endpointID,
            type: "test",
            subject: nil,
            attempts: 0,
            heldFor: nil,
            body: Array("{}".utf8)
        )
        for (hasPrevious, count) in [(false, 4), (true, 8), (false, 4)] {
            let settings = EndpointSettings(
                url: "https://example.com/",
                keepsOrder: true,
                window: 1,
                perSecond: nil,
                timeout: .seconds(1),
                secretGeneration: 2,
                hasPreviousSecret: hasPrevious
            )
            let fields = Dictionary(
                uniqueKeysWithValues: try signer.headers(for: entry, Array("{}".utf8), settings, masters).map { ($0.name, $0.value) }
            )
            let signatures = try #require(fields["webhook-signature"]).split(separator: " ")
            #expect(signatures.count == count && Set(signatures).count == count)
            #expect(fields["webhook-id"] == "11223344-5566-4788-99aa-bbccddeeff00")
        }
    }
}
