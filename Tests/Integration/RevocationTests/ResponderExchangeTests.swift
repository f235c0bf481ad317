import AppStoreVerification
import InboxTesting
import OpenSSL
import Outbox
import Postgres
import PostgresTesting
import ServiceLifecycle
import StoreSimulator
import StoreSimulatorServer
import Testing

@testable import Revocation

/// Questions over HTTP.
@Suite(.timeLimit(.minutes(2)))
struct ResponderExchangeTests {
    private func outcome(of answer: ResponderServer.Answer?, within timeout: Duration = .seconds(60)) async throws -> ExchangeOutcome {
        let server = try await ResponderServer.start()
        defer { server.stop() }
        server.answer { _ in answer }
        let request = OutboundRequest(.post, "\(server.url)/ocsp", body: [1, 2, 3], maximumAnswerBytes: 1000)
        let outcome = try await Exchange.withClient(Exchange.Configuration()) { await $0.send(request, timeout: timeout) }
        #expect(server.received.map(\.body) == [[1, 2, 3]])
        return outcome
    }

    @Test func `an answer arrives unchanged, and no redirect is followed`() async throws {
        for status in [200, 302, 503] {
            guard case .answer(let answer) = try await outcome(of: .init(status, [0, 255])) else {
                Issue.record("no answer")
                continue
            }
            #expect(answer.status == status && answer.body == [0, 255])
        }
    }

    @Test func `an answer that is too large, or does not come, is a failure`() async throws {
        let large = ResponderServer.Answer(200, [UInt8](repeating: 48, count: 1001))
        guard case .failure(.answerTooLarge) = try await outcome(of: large) else {
            Issue.record("a large answer")
            return
        }
        guard case .failure(.timedOut) = try await outcome(of: nil, within: .milliseconds(200)) else {
            Issue.record("a silent responder")
            return
        }
        let request = OutboundRequest(.post, "http://127.0.0.1:9/ocsp", body: [1], maximumAnswerBytes: 1000)
        guard
            case .failure(.connectionFailed) = try await Exchange.withClient(
                Exchange.Configuration(),
                { await $0.send(request, timeout: .seconds(60)) }
            )
        else {
            Issue.record("a port where no server listens")
            return
        }
    }

    @Test func `a running worker asks the responder that the certificate names, and rejects what a revoked one signs`() async throws {
        let server = try await ResponderServer.start()
        let scene = try await RevocationScene(responderURL: server.url)
        scene.responder.set(.init(.revoked(at: MakeBelieveResponder.now, .keyCompromise)), about: scene.authority.leaf)
        server.answer { request in
            let asked = OutboundRequest(.post, request.path, body: request.body, maximumAnswerBytes: 0)
            guard case .answer(let answer) = scene.responder.outcome(of: asked) else { return nil }
            return .init(answer.status, answer.body)
        }
        let log = CapturedLog()
        try await scene.withWorker { worker in
            _ = try await scene.receive()
            try await worker.work()
            let pool = try scene.database.pool(user: "appstore_worker")
            let applied = AsyncStream.makeStream(of: Int.self)
            let service = RevocationService(
                pool: pool,
                hosts: { .any },
                used: { worker.takeUsedCertificates() },
                apply: { applied.continuation.yield($0.count) },
                logger: log.logger
            )
            let group = ServiceGroup(services: [service], logger: .silent)
            try await withThrowingTaskGroup(of: Void.self) { tasks in
                tasks.addTask { try await group.run() }
                // The revocation is applied at once, and again when both certificates were asked about, in whatever order.
                for await _ in applied.stream.filter({ $0 == 1 }).dropFirst() { break }
                await group.triggerGracefulShutdown()
                try await tasks.waitForAll()
            }
            await pool.close()
            #expect(server.received.map(\.path).sorted() == ["/ocsp03-testg602", "/ocsp03-testrootcag3"])
            #expect(server.received.allSatisfy { $0.contentType == "application/ocsp-request" })
            #expect(log.text.contains("a certificate that signs is revoked"))
            let event = try await scene.receive()
            await worker.service.prepare()
            try await worker.work()
            #expect(try await scene.outcome(of: event) == "rejected certificate_revoked")
        }
        server.stop()
    }

    @Test func `a worker that asks no responder follows what others were told`() async throws {
        let scene = try await RevocationScene()
        scene.responder.set(.init(.revoked(at: MakeBelieveResponder.now, .keyCompromise)), about: scene.authority.leaf)
        try await scene.withWorker { worker in
            _ = try await scene.receive()
            try await worker.work()
            try await worker.ask()
            let event = try await scene.receive()
            var seen = SeenCertificates()
            try await worker.service.step(nil, &seen)
            try await worker.work()
            #expect(try await scene.outcome(of: event) == "rejected certificate_revoked")
            #expect(scene.responder.asked.count == 2)
        }
    }
}
