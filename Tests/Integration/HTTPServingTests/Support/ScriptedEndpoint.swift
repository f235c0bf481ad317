import NIOCore
import NIOHTTP1
import Synchronization
import Testing

@testable import HTTPServing

/// An endpoint whose calls the test answers.
final class ScriptedEndpoint: Sendable {
    private struct State {
        var calls: [(request: Request, answer: Endpoint.Answer)] = []
        var newBodies: [String] = []
        var tasks: [@Sendable () async -> Void] = []
    }

    private let state = Mutex(State())

    /// POST of some paths on the event loop, and `/task` in a task.
    var routes: Routes {
        var routes = Routes()
        for path in ["/", "/apple/v2/notifications", "/large", "/small", "/post"] {
            routes.on(
                .POST,
                path,
                .onEventLoop { request, answer in
                    self.state.withLock {
                        $0.calls.append((request, answer))
                        $0.newBodies.append(String(buffer: request.body))
                    }
                }
            )
        }
        routes.on(.GET, "/task/{name}") { request in Response(text: "task \(request.values["name", default: ""])") }
        return routes
    }

    /// The oldest request without an answer.
    var oldest: Request? { state.withLock { $0.calls.first?.request } }
    /// The number of tasks that were started.
    var taskCount: Int { state.withLock { $0.tasks.count } }

    func newBodies() -> [String] {
        state.withLock { state in
            defer { state.newBodies = [] }
            return state.newBodies
        }
    }

    func answer(_ result: Result<Response, Problem>) throws {
        let call = state.withLock { $0.calls.isEmpty ? nil : $0.calls.removeFirst() }
        try #require(call).answer(result)
    }

    func start(_ task: @escaping @Sendable () async -> Void) {
        state.withLock { $0.tasks.append(task) }
    }

    /// Runs the tasks that were started.
    func runTasks() async {
        let tasks = state.withLock { state in
            defer { state.tasks = [] }
            return state.tasks
        }
        for task in tasks { await task() }
    }
}
