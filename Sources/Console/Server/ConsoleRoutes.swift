import HTTPServing
import NIOCore
import NIOHTTP1

/// The routes of the console. Each answer is a page, also one that refuses.
struct ConsoleRoutes: Sendable {
    let pages: ConsolePages
    let access: Access
    let metrics: AnswerMetrics
    let transactions: ConsoleTransactions
    let isReadOnly: Bool
    private let assets = Assets()

    var routes: Routes {
        var routes = Routes(hidesUnknownPaths: true, headers: SecurityHeaders.fields(isSecure: access.origin.isSecure))
        for file in assets.all { routes.on(.GET, file.path) { request in file.answer(request) } }
        for page in pages.pages {
            add(.GET, page.path, page.area, to: &routes) { request throws(ConsoleProblem) in try await show(page, request) }
        }
        for action in pages.actions {
            add(.POST, action.path, action.area, to: &routes) { request throws(ConsoleProblem) in try await perform(action, request) }
        }
        guard access.hasLogins else { return routes }
        add(.GET, "/login", nil, to: &routes) { request throws(ConsoleProblem) in try askToLogIn(request) }
        add(.POST, "/login", nil, to: &routes) { request throws(ConsoleProblem) in try await logIn(request) }
        add(.POST, "/logout", nil, to: &routes) { request throws(ConsoleProblem) in try await logOut(request) }
        return routes
    }

    private func add(
        _ method: HTTPMethod,
        _ path: String,
        _ area: ConsoleArea?,
        to routes: inout Routes,
        _ respond: @escaping @Sendable (Request) async throws(ConsoleProblem) -> Response
    ) {
        let operation = metrics.operation("\(method.rawValue) \(path)")
        routes.on(method, path) { request throws(Problem) in
            let start = ContinuousClock.now
            let response: Response
            do throws(ConsoleProblem) {
                try access.origin.checkHost(request)
                if method == .POST { try access.origin.checkPost(request) }
                // PostgreSQL has no such text.
                guard !request.values.values.contains(where: { $0.utf8.contains(0) }) else { throw .notFound("There is no such page.") }
                response = try await respond(request)
            } catch {
                response = refusal(error, area)
            }
            operation.answered(status: Int(response.status.code), after: .now - start)
            return response
        }
    }

    private func show(_ page: any ConsolePage, _ request: Request) async throws(ConsoleProblem) -> Response {
        let query = try PageQuery(request.query)
        let environment = try environment(query)
        let asked = PageRequest(values: request.values, query: query)
        let (person, answer) = try await transactions.reading(try access.credential(of: request)) { person, transaction in
            let context = ConsoleContext(
                person: person,
                environment: environment,
                isReadOnly: isReadOnly,
                transaction: transaction
            )
            return (person, try await page.answer(asked, context))
        }
        let content: Page
        switch answer {
        case .file(let name, let mediaType, let text): return file(name, mediaType, text)
        case .page(let page): content = page
        case .later(let make): content = await make()
        }
        var layout = layout(person, page.area, environment, query.items.reduce(url(request)) { $0.with($1.name, $1.value) })
        layout.notice = access.cookies.notice(of: request)
        var response = document(layout.document(content))
        if layout.notice != nil { response.headers.add(name: "set-cookie", value: access.cookies.endNotice) }
        return response
    }

    private func perform(_ action: any ConsoleAction, _ request: Request) async throws(ConsoleProblem) -> Response {
        guard !isReadOnly else { throw .forbidden("This console is read-only.") }
        let credential = try access.credential(of: request)
        let form = try ActionForm(request)
        let environment = try environment(try PageQuery(request.query))
        return try await transactions.acting(credential, action.right) { person, transaction in
            let context = ConsoleContext(person: person, environment: environment, isReadOnly: false, transaction: transaction)
            // The answer to a form has no address for the other environment.
            let layout = layout(person, action.area, environment, action.area.url)
            switch try await action.perform(form, context) {
            case .done(let url, let words): return redirect(to: url, cookie: access.cookies.setNotice(words))
            case .page(let content): return document(layout.document(content))
            case .confirm(let confirmation):
                let url = url(request).with("environment", environment == "Production" ? nil : environment)
                return document(layout.document(confirmation.page(for: form, at: url)))
            }
        }
    }

    private func environment(_ query: PageQuery) throws(ConsoleProblem) -> String {
        let environment = query["environment"] ?? "Production"
        guard ["Production", "Sandbox"].contains(environment) else { throw .badRequest("environment must be Production or Sandbox.") }
        return environment
    }

    private func url(_ request: Request) -> ConsoleURL {
        ConsoleURL(segments: request.path.split(separator: "/").map { PercentEncoding.decode($0) ?? "" })
    }

    private func layout(_ person: ConsolePerson, _ area: ConsoleArea, _ environment: String, _ url: ConsoleURL) -> Layout {
        Layout(
            assets: assets,
            person: person,
            area: area,
            environment: environment,
            isReadOnly: isReadOnly,
            canLogOut: access.hasLogins,
            url: url
        )
    }
}

/// Logging in and out.
extension ConsoleRoutes {
    /// The page that a link leads to. It uses up nothing: programs that look at links before a person does would.
    private func askToLogIn(_ request: Request) throws(ConsoleProblem) -> Response {
        guard let text = try PageQuery(request.query)["token"], ConsoleSecret(text) != nil else { throw .noSession }
        let page = Page(title: "Log in", elsewhere: .nowhere) {
            p { "The link works once, for 60 seconds." }
            actionForm(ConsoleURL("login"), button: "Log in") { hiddenField(name: "token", value: text) }
        }
        return document(Layout(assets: assets).document(page))
    }

    private func logIn(_ request: Request) async throws(ConsoleProblem) -> Response {
        guard let text = try ActionForm(request)["token"], let token = ConsoleSecret(text) else { throw .unusedLink }
        var generator = SystemRandomNumberGenerator()
        let secret = ConsoleSecret(using: &generator)
        let former = access.cookies.session(of: request).map { ConsoleSession.end($0) }
        let person = try await transactions.row(ConsoleSession.begin(token, secret), then: former) { try ConsoleSession($0).person }
        guard person != nil else { throw .unusedLink }
        return redirect(to: ConsoleURL(), cookie: access.cookies.setSession(secret, seconds: 12 * 3600))
    }

    private func logOut(_ request: Request) async throws(ConsoleProblem) -> Response {
        if let secret = access.cookies.session(of: request) { _ = try await transactions.row(ConsoleSession.end(secret)) { _ in true } }
        var response = document(
            Layout(assets: assets).document(Page(title: "Logged out", elsewhere: .nowhere) { p { "The session has ended." } })
        )
        response.headers.add(name: "set-cookie", value: access.cookies.endSession)
        return response
    }
}

/// Answers.
extension ConsoleRoutes {
    private func document(_ markup: Markup, status: HTTPResponseStatus = .ok) -> Response {
        var body = ByteBuffer()
        markup.writeDocument(into: &body)
        return Response(status: status, headers: ["content-type": "text/html; charset=utf-8"], body: body)
    }

    private func refusal(_ problem: ConsoleProblem, _ area: ConsoleArea?) -> Response {
        let page = Page(title: problem.title, elsewhere: .nowhere) {
            p { problem.detail }
            if problem.status != 401 { p { a(.href(area?.url ?? ConsoleURL())) { "Back to the console" } } }
        }
        return document(Layout(assets: assets).document(page), status: HTTPResponseStatus(statusCode: problem.status))
    }

    /// Status 303: the browser asks for the page by GET.
    private func redirect(to url: ConsoleURL, cookie: String) -> Response {
        Response(status: .seeOther, headers: ["location": url.description, "set-cookie": cookie])
    }

    private func file(_ name: String, _ mediaType: String, _ text: String) -> Response {
        let name = name.filter { $0.isASCII && ($0.isLetter || $0.isNumber || "-_.".contains($0)) }
        let headers: HTTPHeaders = ["content-type": mediaType, "content-disposition": "attachment; filename=\"\(name)\""]
        return Response(status: .ok, headers: headers, body: ByteBuffer(string: text))
    }
}

/// What Health shows: a finding of each check that can be made through the database.
package typealias HealthReport = @Sendable () async -> [HealthFinding]

/// All pages and actions of the console.
struct ConsolePages: Sendable {
    let pages: [any ConsolePage]
    let actions: [any ConsoleAction]

    init(health: @escaping HealthReport, bodyCheck: BodyCheck? = nil) {
        pages =
            [OverviewPage(), AttentionPage(), AuditPage(), SessionsPage(), HealthPage(reports: HealthReports(health))]
            + [EventPage(checksBodies: bodyCheck != nil)] + Self.operations
        actions = [EndSession(), CheckBody(check: bodyCheck)] + Self.operationActions
    }

    /// The pages about events, customers, repairs and what goes out, and what is done on them.
    private static let operations: [any ConsolePage] =
        [EventsPage(), RepairsPage(), OutgoingPage(), EndpointPage(), ReportsPage(), ReportFile()] + CustomerPage.all

    private static let operationActions: [any ConsoleAction] =
        [RepairEvents(), RequeueEvent(), DiscardEvent(), ShowBody(), ForgetUser(), StopRepair()] + LinkOwner.all
        + ChangeEndpoint.Change.allCases.map { ChangeEndpoint(change: $0) }
}
