import AppStore
import Foundation
import NIOHTTP1
import PostgresTesting
import StoreSimulator
import Synchronization
import Testing

@testable import Feed

/// The outcome of an attempt for each behaviour of a receiver, of names and of a proxy.
@Suite(.timeLimit(.minutes(2)))
struct EndpointExchangeTests {
    private func send(
        to url: String,
        body: [UInt8] = Array("{}".utf8),
        headers: [(name: String, value: String)] = [],
        within timeout: Duration = .seconds(30),
        _ change: (inout WebhookService.Configuration) -> Void = { _ in }
    ) async throws -> DeliveryOutcome {
        var configuration = WebhookService.Configuration()
        change(&configuration)
        let exchange = try EndpointExchange(configuration)
        defer { exchange.close() }
        return await exchange.send(DeliveryRequest(url: try EndpointURL(url), headers: headers, body: body, timeout: timeout))
    }

    private func outcome(_ reply: Receiver.Reply, within timeout: Duration = .seconds(30)) async throws -> DeliveryOutcome {
        let receiver = try await Receiver.start { _ in reply }
        let outcome = try await send(to: receiver.url, within: timeout)
        #expect(receiver.requests.count == 1)
        await receiver.stop()
        return outcome
    }

    @Test func `a request arrives as it was given, and its answer comes back`() async throws {
        let receiver = try await Receiver.start { _ in .status(418, [("retry-after", "9")], body: Array("no\0pe".utf8)) }
        let body = Array(#"{"ünï": 1}"#.utf8)
        let outcome = try await send(
            to: "http://127.0.0.1:\(receiver.port)/hook?a=b%20c",
            body: body,
            headers: [("webhook-id", "x"), ("authorization", "Bearer t"), ("Content-Length", "7"), ("Host", "evil")]
        )
        let answer = try #require(outcome.answer)
        #expect(answer.status == 418 && answer.retryAfter == .seconds(9) && answer.body == Array("no\0pe".utf8) && answer.byteCount == 5)
        let request = receiver.requests[0]
        #expect(request.target == "/hook?a=b%20c" && request.body == body && request.headers["webhook-id"] == ["x"])
        #expect(request.headers["host"] == ["127.0.0.1:\(receiver.port)"] && request.headers["content-length"] == ["\(body.count)"])
        #expect(request.headers["authorization"] == ["Bearer t"])
        await receiver.stop()
    }

    @Test func `a connection is used again, and closed when it is idle`() async throws {
        let receiver = try await Receiver.start()
        let request = DeliveryRequest(url: try EndpointURL(receiver.url), headers: [], body: [1], timeout: .seconds(10))
        var configuration = WebhookService.Configuration()
        for (lifetime, rest, connections) in [(Duration.seconds(60), Duration.zero, 1), (.milliseconds(50), .milliseconds(500), 3)] {
            configuration.idleLifetime = lifetime
            let exchange = try EndpointExchange(configuration)
            for _ in 0..<(rest == .zero ? 20 : 2) {
                #expect(await exchange.send(request).answer?.status == 204)
                try await pause(rest)
            }
            #expect(receiver.connections == connections)
            exchange.close()
        }
        await receiver.stop()
    }

    @Test func `a connection that the receiver has closed is not used again`() async throws {
        let receiver = try await Receiver.start { _ in .close }
        let exchange = try EndpointExchange(WebhookService.Configuration())
        let request = DeliveryRequest(url: try EndpointURL(receiver.url), headers: [], body: [1], timeout: .seconds(10))
        for _ in 0..<10 { #expect(await exchange.send(request).answer?.status == 200) }
        exchange.close()
        await receiver.stop()
    }

    @Test func `a connection that the receiver closes while a second request is on its way costs no attempt`() async throws {
        let count = Mutex(0)
        let receiver = try await Receiver.start { _ in
            count.withLock {
                $0 += 1
                return $0 == 2 ? .breakOff() : .status(204)
            }
        }
        let exchange = try EndpointExchange(WebhookService.Configuration())
        let request = DeliveryRequest(url: try EndpointURL(receiver.url), headers: [], body: [1], timeout: .seconds(10))
        for _ in 0..<2 { #expect(await exchange.send(request).answer?.status == 204) }
        #expect(receiver.requests.count == 3)
        exchange.close()
        await receiver.stop()
    }

    @Test func `a receiver that never answers fails the attempt after its timeout`() async throws {
        #expect(try await outcome(.silence, within: .milliseconds(300)).text == "failed: timed out")
    }

    @Test func `a connection that breaks before an answer fails the attempt`() async throws {
        #expect(try await outcome(.breakOff()).text.hasPrefix("failed: "))
    }

    @Test func `once the head has arrived, the status counts: the answer breaks off, or never ends`() async throws {
        #expect(try await outcome(.breakOff(afterHead: true)).answer?.status == 200)
        #expect(try await outcome(.trickle, within: .milliseconds(500)).answer?.status == 200)
    }

    @Test func `of 64 MB of answer, little more than 64 KB are read, and the status counts`() async throws {
        let receiver = try await Receiver.start { _ in .large(64 * 1_048_576) }
        let answer = try #require(try await send(to: receiver.url).answer)
        #expect(answer.status == 200 && answer.body.count == DeliveryAnswer.keptBytes)
        #expect(answer.byteCount >= 65_536 && answer.byteCount < 2_000_000)
        // The rest fills the buffers of the system at most.
        #expect(receiver.sentBytes < 32 * 1_048_576)
        await receiver.stop()
    }

    @Test(arguments: [301, 302, 307, 308])
    func `a redirect is an answer, and is not followed`(status: Int) async throws {
        let other = try await Receiver.start()
        for target in [other.url, "http://169.254.169.254/latest/meta-data"] {
            let receiver = try await Receiver.start { _ in .status(status, [("location", target)]) }
            #expect(try await send(to: receiver.url).answer?.status == status)
            await receiver.stop()
        }
        #expect(other.requests.isEmpty)
        await other.stop()
    }

    @Test func `a closed port is a failure`() async throws {
        let receiver = try await Receiver.start()
        let url = receiver.url
        await receiver.stop()
        #expect(try await send(to: url).text == "failed: Connection refused")
    }

    @Test func `a cancelled attempt ends at once`() async throws {
        let receiver = try await Receiver.start { _ in .silence }
        let url = receiver.url
        let task = Task { try await send(to: url, within: .seconds(3600)) }
        try await eventually("it arrives") { !receiver.requests.isEmpty }
        task.cancel()
        #expect(try await task.value.text == "cancelled")
        await receiver.stop()
    }

    // Names.

    @Test func `a name is resolved once for many attempts, and again after some seconds`() async throws {
        let receiver = try await Receiver.start()
        let asked = Mutex(0)
        var configuration = WebhookService.Configuration()
        configuration.nameLifetime = .milliseconds(200)
        configuration.lookUp = { _ in
            asked.withLock { $0 += 1 }
            return [IPAddress(v4: 0x7f00_0001)]
        }
        let exchange = try EndpointExchange(configuration)
        let url = try EndpointURL("http://hooks.example:\(receiver.port)/")
        await withTaskGroup { group in
            for _ in 0..<20 {
                group.addTask {
                    let request = DeliveryRequest(url: url, headers: [], body: [], timeout: .seconds(10))
                    #expect(await exchange.send(request).answer?.status == 204)
                }
            }
        }
        #expect(asked.withLock(\.self) == 1)
        #expect(receiver.requests.allSatisfy { $0.headers["host"] == ["hooks.example:\(receiver.port)"] })
        try await pause(.milliseconds(250))
        _ = await exchange.send(DeliveryRequest(url: url, headers: [], body: [], timeout: .seconds(10)))
        #expect(asked.withLock(\.self) == 2)
        exchange.close()
        await receiver.stop()
    }

    @Test func `a name that leads to a metadata address the second time reaches nothing then`() async throws {
        let receiver = try await Receiver.start()
        let asked = Mutex(0)
        var configuration = WebhookService.Configuration()
        configuration.nameLifetime = .zero
        configuration.lookUp = { _ in
            asked.withLock { $0 += 1 }
            return asked.withLock(\.self) == 1 ? [IPAddress(v4: 0x7f00_0001)] : [IPAddress(v4: 0x7f00_0001), IPAddress(v4: 0xa9fe_a9fe)]
        }
        let exchange = try EndpointExchange(configuration)
        let request = DeliveryRequest(
            url: try EndpointURL("http://hooks.example:\(receiver.port)/"),
            headers: [],
            body: [],
            timeout: .seconds(10)
        )
        #expect(await exchange.send(request).answer?.status == 204)
        // Although a connection to the first address is open, and the first of its addresses is allowed.
        #expect(await exchange.send(request).text.hasPrefix("refused: 169.254.169.254 is link-local"))
        #expect(receiver.requests.count == 1)
        exchange.close()
        await receiver.stop()
    }

    @Test func `where an address cannot be connected to, the next one is`() async throws {
        let receiver = try await Receiver.start()
        let outcome = try await send(to: "http://hooks.example:\(receiver.port)/") {
            $0.lookUp = { _ in ["127.0.0.2", "127.0.0.1"].compactMap(IPAddress.init) }
        }
        #expect(outcome.answer?.status == 204)
        await receiver.stop()
    }

    @Test func `a name that is not resolved in time, or at all, fails the attempt`() async throws {
        let slow = try await send(to: "http://hooks.example/", within: .milliseconds(200)) {
            $0.lookUp = { _ in
                Thread.sleep(forTimeInterval: 2)
                return []
            }
        }
        #expect(slow.text == "failed: timed out")
        #expect(try await send(to: "http://hooks.example/") { $0.lookUp = { _ in [] } }.text == "failed: the name has no address")
        #expect(try await send(to: "http://hooks.invalid/").text.hasPrefix("failed: the name cannot be resolved"))
    }

    @Test func `the system's resolver finds localhost`() async throws {
        let receiver = try await Receiver.start()
        #expect(try await send(to: "http://localhost:\(receiver.port)/").answer?.status == 204)
        await receiver.stop()
    }

    @Test(arguments: ["https://169.254.169.254/", "https://[fd00:ec2::254]/", "https://[::ffff:169.254.169.254]/", "https://0.0.0.0/"])
    func `a refused address is not connected to`(url: String) async throws {
        #expect(try await send(to: url).text.hasPrefix("refused: "))
    }

    @Test func `a listener of this program is refused by each of the machine's addresses, and other ports are not`() async throws {
        let receiver = try await Receiver.start(host: "0.0.0.0")
        let port = receiver.port
        let own = ["127.0.0.1", "127.3.2.1"] + Interfaces.addresses().filter { $0.contains(".") }
        for address in own where NetworkPolicy.any.refusal(of: try #require(IPAddress(address)), usesTLS: false) == nil {
            #expect(
                try await send(to: "http://\(address):\(port)/") { $0.ownPorts = [port] }.text.contains("is a listener of this program")
            )
            #expect(try await send(to: "http://\(address):\(port)/") { $0.ownPorts = [port + 1] }.answer?.status == 204)
        }
        #expect(try await send(to: "http://localhost:\(port)/") { $0.ownPorts = [port] }.text.contains("is a listener of this program"))
        #expect(receiver.requests.count > 0)
        await receiver.stop()
    }

    @Test func `the policy of the operator is applied to each address`() async throws {
        let receiver = try await Receiver.start()
        #expect(try await send(to: receiver.url) { $0.networks = NetworkPolicy("public") ?? .any }.text.hasPrefix("refused: "))
        #expect(try await send(to: receiver.url) { $0.networks = NetworkPolicy("127.0.0.0/8") ?? .any }.answer?.status == 204)
        #expect(receiver.requests.count == 1)
        await receiver.stop()
    }

    // TLS.

    private func withRoot<T>(_ identity: SimulatedHostIdentity, _ body: (String) async throws -> T) async throws -> T {
        let file = FileManager.default.temporaryDirectory.appending(path: "webhooks-root-\(UUID().uuidString).pem")
        try Data(identity.rootPEM.utf8).write(to: file)
        defer { try? FileManager.default.removeItem(at: file) }
        return try await body(file.path)
    }

    private static func identity(_ name: String = "hooks.example") throws -> SimulatedHostIdentity {
        try .generate(name: name, around: Timestamp(millisecondsSince1970: Int64(Date().timeIntervalSince1970 * 1000)))
    }

    @Test func `a certificate is verified against the name, and the connection goes to the judged address`() async throws {
        let identity = try Self.identity()
        let receiver = try await Receiver.start(identity: identity)
        let lookUp: NameResolver.LookUp = { _ in [IPAddress(v4: 0x7f00_0001)] }
        try await withRoot(identity) { root in
            let good = try await send(to: "https://hooks.example:\(receiver.port)/") { ($0.extraRootPaths, $0.lookUp) = ([root], lookUp) }
            #expect(good.answer?.status == 204)
            for host in ["other.example", "127.0.0.1"] {
                let bad = try await send(to: "https://\(host):\(receiver.port)/") { ($0.extraRootPaths, $0.lookUp) = ([root], lookUp) }
                #expect(bad.text.hasPrefix("refused: TLS: "), "\(bad.text)")
            }
        }
        let untrusted = try await send(to: "https://hooks.example:\(receiver.port)/") { $0.lookUp = lookUp }
        #expect(untrusted.text.hasPrefix("refused: TLS: "))
        #expect(receiver.requests.count == 1, "a body went to a receiver that is not trusted")
        await receiver.stop()
    }

    @Test func `a receiver without TLS gets nothing`() async throws {
        let receiver = try await Receiver.start()
        let outcome = try await send(to: "https://127.0.0.1:\(receiver.port)/")
        #expect(outcome.text.hasSuffix("in the TLS handshake"), "\(outcome.text)")
        await receiver.stop()
    }

    // The egress proxy.

    private func through(_ manner: TestProxy.Manner, to url: String, roots: [String] = []) async throws -> (DeliveryOutcome, [String]) {
        let proxy = try await TestProxy.start(manner)
        let outcome = try await send(to: url, headers: [("webhook-id", "x")]) {
            $0.proxy = ProxyAddress("http://user:secret@127.0.0.1:\(proxy.port)")
            $0.extraRootPaths = roots
            $0.lookUp = { _ in throw DeliveryFailure.failed("names are the proxy's") }
        }
        let asked = proxy.asked
        try await proxy.stop()
        return (outcome, asked)
    }

    @Test func `a proxy gets the name and its own credentials, and sees nothing else`() async throws {
        let identity = try Self.identity()
        let receiver = try await Receiver.start(identity: identity)
        try await withRoot(identity) { root in
            let (outcome, asked) = try await through(.connect(port: receiver.port), to: "https://hooks.example/", roots: [root])
            #expect(outcome.answer?.status == 204)
            let credentials = "Proxy-Authorization: Basic dXNlcjpzZWNyZXQ="
            #expect(asked == ["CONNECT hooks.example:443 HTTP/1.1\r\nHost: hooks.example:443\r\n\(credentials)\r\n\r\n"])
        }
        #expect(receiver.requests.map(\.id) == ["x"] && receiver.requests[0].headers["proxy-authorization"] == [])
        await receiver.stop()
    }

    @Test(arguments: ["407 Proxy Authentication Required", "403 Forbidden", "400 Bad", "302 Found", "500 Oops"])
    func `a proxy that refuses is at fault`(line: String) async throws {
        let (outcome, _) = try await through(.answer(line), to: "https://hooks.example/")
        #expect(outcome.text == "proxy: the proxy refuses to connect: status \(line.prefix(3))")
    }

    @Test(arguments: ["502 Bad Gateway", "503 Service Unavailable", "504 Gateway Timeout"])
    func `a proxy that cannot reach the endpoint is not at fault`(line: String) async throws {
        let (outcome, _) = try await through(.answer(line), to: "https://hooks.example/")
        #expect(outcome.text == "failed: the proxy cannot connect to it: status \(line.prefix(3))")
    }

    @Test func `a proxy that is absent, hangs up or is none is at fault`() async throws {
        let receiver = try await Receiver.start()
        let port = receiver.port
        await receiver.stop()
        let absent = try await send(to: "https://hooks.example/") { $0.proxy = ProxyAddress("http://127.0.0.1:\(port)") }
        #expect(absent.text.hasPrefix("proxy: no connection to the proxy"), "\(absent.text)")
        #expect(try await through(.hangUp, to: "https://hooks.example/").0.text.hasPrefix("proxy: "))
    }

    @Test func `a proxy that never answers is at fault, and its connection is closed`() async throws {
        let proxy = try await TestProxy.start(.silence)
        let outcome = try await send(to: "https://hooks.example/", within: .milliseconds(300)) {
            $0.proxy = ProxyAddress("http://127.0.0.1:\(proxy.port)")
        }
        #expect(outcome.text == "proxy: the proxy does not answer in time" && proxy.asked.count == 1)
        try await eventually("its connection is closed") { proxy.connections == 0 }
        try await proxy.stop()
    }

    @Test func `what goes wrong behind the proxy is the endpoint's`() async throws {
        let plain = try await Receiver.start { _ in .breakOff() }
        #expect(try await through(.connect(port: plain.port), to: "http://127.0.0.1:1/").0.text.hasPrefix("failed: "))
        #expect(try await through(.connect(port: plain.port), to: "https://hooks.example/").0.text.hasSuffix("in the TLS handshake"))
        await plain.stop()
    }

    @Test func `behind a proxy, http needs a literal address, and https a name`() async throws {
        // The certificate of an address cannot be verified there.
        for url in ["http://hooks.example/", "https://127.0.0.1/"] {
            let (outcome, asked) = try await through(.answer("200 OK"), to: url)
            #expect(outcome.text.hasPrefix("refused: ") && asked.isEmpty)
        }
    }

    @Test func `nothing that is printed holds a field, a body or a path`() throws {
        let request = DeliveryRequest(
            url: try EndpointURL("https://hooks.example/token"),
            headers: [("authorization", "secret")],
            body: Array("payload".utf8),
            timeout: .seconds(1)
        )
        var dumped = ""
        dump(request, to: &dumped)
        for text in [dumped, "\(request)", String(reflecting: request)] { #expect(!text.contains("secret") && !text.contains("token")) }
    }
}

extension DeliveryOutcome {
    var answer: DeliveryAnswer? { if case .answered(let answer) = self { answer } else { nil } }

    var text: String {
        switch self {
        case .answered(let answer): "answered \(answer.status)"
        case .failed(let text): "failed: \(text)"
        case .refused(let text): "refused: \(text)"
        case .proxyFailed(let text): "proxy: \(text)"
        case .cancelled: "cancelled"
        }
    }
}
