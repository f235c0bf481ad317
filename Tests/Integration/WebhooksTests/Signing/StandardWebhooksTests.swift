import Foundation
import Postgres
import PostgresTesting
import Testing

@testable import Feed

/// What the reference implementation of Standard Webhooks, PyPI's `standardwebhooks`, says of our deliveries.
@Suite(.timeLimit(.minutes(5)))
struct StandardWebhooksTests {
    /// Verifies each delivery by scheme v1 with the reference implementation, by v1a with `cryptography`, and refuses changed ones.
    private static let verifier = #"""
        import base64, json, sys
        from cryptography.exceptions import InvalidSignature
        from cryptography.hazmat.primitives.asymmetric.ed25519 import Ed25519PublicKey
        from standardwebhooks.webhooks import Webhook, WebhookVerificationError

        def v1(secret, headers, body):
            try:
                Webhook(secret).verify(body, headers)
                return True
            except WebhookVerificationError:
                return False

        def v1a(key, headers, body):
            signed = f"{headers['webhook-id']}.{headers['webhook-timestamp']}.{body}".encode()
            public = Ed25519PublicKey.from_public_bytes(base64.b64decode(key.removeprefix("whpk_")))
            for signature in headers["webhook-signature"].split(" "):
                scheme, value = signature.split(",")
                try:
                    if scheme == "v1a":
                        public.verify(base64.b64decode(value), signed)
                        return True
                except InvalidSignature:
                    pass
            return False

        count = 0
        for line in sys.stdin:
            case = json.loads(line)
            headers, body = case["headers"], case["body"]
            other = dict(headers, **{"webhook-id": headers["webhook-id"][:-1] + "x"})
            for check, keys, strangers in ((v1, case["secrets"], case["otherSecrets"]), (v1a, case["keys"], case["otherKeys"])):
                for key in keys:
                    assert check(key, headers, body), f"{check.__name__} refuses a delivery"
                    assert not check(key, headers, body + " "), f"{check.__name__} accepts a changed body"
                    assert not check(key, other, body), f"{check.__name__} accepts a changed id"
                    count += 1
                for key in strangers:
                    assert not check(key, headers, body), f"{check.__name__} accepts a signature of another secret"
        print(count)
        """#

    private struct Case: Encodable {
        let headers: [String: String]
        let body: String
        let secrets: [String]
        let keys: [String]
        let otherSecrets: [String]
        let otherKeys: [String]
    }

    @Test func `the reference implementation accepts every delivery, also while secrets are rotated, and no changed one`() async throws {
        let folder = FileManager.default.temporaryDirectory.appending(path: "standardwebhooks-\(UUID().uuidString)")
        defer { try? FileManager.default.removeItem(at: folder) }
        let installed = try await run(
            ["-m", "pip", "install", "--quiet", "--target", folder.path, "standardwebhooks", "cryptography"],
            folder,
            ""
        )
        guard installed.status == 0 else { try Test.cancel("PyPI's standardwebhooks cannot be installed here") }

        let receiver = try await Receiver.start()
        var scene = try await WebhookScene.make()
        scene.masters = "\(WebhookScene.master)\nthe one before, of thirty-two bytes or more"
        try await scene.operate("SELECT appstore.make_endpoint('crm', \(receiver.url))")
        try await scene.running { [scene] in
            try await scene.tell(["a", "ünï\"c\\ode"])
            try await scene.awaitDelivery()
            try await scene.operate("SELECT appstore.rotate_endpoint_secret('crm')")
            // The settings are polled.
            try await pause(.milliseconds(500))
            try await scene.tell(["b"])
            try await scene.awaitDelivery()
        }
        let endpointID = try #require(UUID(uuidString: try await scene.state("endpoint_id")))
        let masters = try WebhookMasters(scene.masters)
        let generations = (0...3).map { masters.secrets(endpointID: endpointID, generation: $0) }
        let cases = receiver.requests.enumerated().map { index, request in
            let valid = index < 2 ? generations[1] : generations[2] + generations[1]
            let others = index < 2 ? generations[2] : generations[3] + generations[0]
            return Case(
                headers: Dictionary(request.headers.map { ($0.name.lowercased(), $0.value) }) { first, _ in first },
                body: request.text,
                secrets: valid.map(\.symmetric),
                keys: valid.map(\.publicKey),
                otherSecrets: others.map(\.symmetric),
                otherKeys: others.map(\.publicKey)
            )
        }
        #expect(cases.count == 3)
        let lines = try cases.map { String(decoding: try JSONEncoder().encode($0), as: UTF8.self) }.joined(separator: "\n")
        let verified = try await run(["-c", Self.verifier], folder, lines)
        #expect(verified.status == 0 && verified.output == "16", "\(verified.output)")
        await receiver.stop()
    }

    private func run(_ arguments: [String], _ folder: URL, _ input: String) async throws -> (status: Int32, output: String) {
        let process = Process()
        process.executableURL = URL(filePath: "/usr/bin/env")
        process.arguments = ["python3"] + arguments
        process.environment = ProcessInfo.processInfo.environment.merging(["PYTHONPATH": folder.path]) { $1 }
        let (inputPipe, outputPipe) = (Pipe(), Pipe())
        (process.standardInput, process.standardOutput, process.standardError) = (inputPipe, outputPipe, outputPipe)
        try process.run()
        try inputPipe.fileHandleForWriting.write(contentsOf: Data(input.utf8))
        try inputPipe.fileHandleForWriting.close()
        let output = try await blocking { try outputPipe.fileHandleForReading.readToEnd() ?? Data() }
        process.waitUntilExit()
        return (process.terminationStatus, String(decoding: output, as: UTF8.self).trimmingCharacters(in: .whitespacesAndNewlines))
    }
}
