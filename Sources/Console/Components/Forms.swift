package import HTML

/// A form that does something. Its button stands at its end.
package func actionForm(
    _ url: ConsoleURL,
    button word: String,
    isDangerous: Bool = false,
    @MarkupBuilder fields: () -> Markup = { .empty }
) -> Markup {
    form(.method(.post), .action(url), .class("action")) {
        fields()
        button(.type(.submit), .class(isDangerous ? "danger" : "act")) { word }
    }
}

/// A labelled line of text.
package func textField(name: String, label text: String, value: String? = nil, isRequired: Bool = false, maximum: Int = 500) -> Markup {
    label(.class("field")) {
        span { text }
        input(
            [.type(.text), .name(name), .maxlength(maximum), .autocomplete(false)] + (value.map { [.value($0)] } ?? [])
                + (isRequired ? [.required] : [])
        )
    }
}

/// A value that the form brings back unseen.
package func hiddenField(name: String, value: String) -> Markup { input(.type(.hidden), .name(name), .value(value)) }

/// A choice of several values.
package func choiceField(name: String, label text: String, choices: [(value: String, title: String)], chosen: String? = nil) -> Markup {
    label(.class("field")) {
        span { text }
        select(.name(name)) {
            choices.map { choice in option([.value(choice.value)] + (choice.value == chosen ? [.selected] : [])) { choice.title } }
        }
    }
}

/// A search by GET, so that its result can be bookmarked.
///
/// - Parameters:
///   - kept: items of the query that stay, such as the environment.
///   - hints: what can be typed, offered by the browser.
package func searchForm(
    action: ConsoleURL,
    name: String,
    value: String?,
    label text: String,
    hints: [String] = [],
    kept: [(name: String, value: String)] = []
) -> Markup {
    form(.method(.get), .action(action), .role("search"), .class("search")) {
        kept.map { hiddenField(name: $0.name, value: $0.value) }
        label(.class("field")) {
            span { text }
            input(
                [.type(.search), .name(name), .maxlength(500), .autocomplete(false), .data("key", "/")] + (value.map { [.value($0)] } ?? [])
                    + (hints.isEmpty ? [] : [.list("hints-\(name)")])
            )
        }
        if !hints.isEmpty {
            datalist(.id("hints-\(name)")) { hints.map { option(.value($0)) } }
        }
        button(.type(.submit)) { "Search" }
    }
}
