// The compiler embeds the files directly: as Swift literals they would add minutes to each build.
#pragma clang diagnostic ignored "-Wc23-extensions"
#include "CHeraldResources.h"
#include <string.h>

static const unsigned char openapi_json[] = {
#embed "../../HeraldAPI/Server/openapi.json"
};
static const unsigned char openapi_yaml[] = {
#embed "../../HeraldAPI/Server/openapi.yaml"
};
static const unsigned char problems_md[] = {
#embed "../../HeraldAPI/Server/problems.md"
};
static const unsigned char docs_css[] = {
#embed "../../HeraldAPI/Reference/docs.css"
};
static const unsigned char docs_html[] = {
#embed "../../HeraldAPI/Reference/docs.html"
};
static const unsigned char docs_txt[] = {
#embed "../../HeraldAPI/Reference/docs.txt"
};
static const unsigned char llms_txt[] = {
#embed "../../HeraldAPI/Reference/llms.txt"
};
static const unsigned char access_js[] = {
#embed "../../HeraldAPI/Dashboard/Pages/access.js"
};
static const unsigned char activity_js[] = {
#embed "../../HeraldAPI/Dashboard/Pages/activity.js"
};
static const unsigned char api_js[] = {
#embed "../../HeraldAPI/Dashboard/Pages/api.js"
};
static const unsigned char app_js[] = {
#embed "../../HeraldAPI/Dashboard/Pages/app.js"
};
static const unsigned char appearance_js[] = {
#embed "../../HeraldAPI/Dashboard/Pages/appearance.js"
};
static const unsigned char attempt_js[] = {
#embed "../../HeraldAPI/Dashboard/Pages/attempt.js"
};
static const unsigned char attempts_js[] = {
#embed "../../HeraldAPI/Dashboard/Pages/attempts.js"
};
static const unsigned char bulk_js[] = {
#embed "../../HeraldAPI/Dashboard/Pages/bulk.js"
};
static const unsigned char charts_js[] = {
#embed "../../HeraldAPI/Dashboard/Pages/charts.js"
};
static const unsigned char delegates_js[] = {
#embed "../../HeraldAPI/Dashboard/Pages/delegates.js"
};
static const unsigned char deliveries_js[] = {
#embed "../../HeraldAPI/Dashboard/Pages/deliveries.js"
};
static const unsigned char dom_js[] = {
#embed "../../HeraldAPI/Dashboard/Pages/dom.js"
};
static const unsigned char drawer_js[] = {
#embed "../../HeraldAPI/Dashboard/Pages/drawer.js"
};
static const unsigned char events_js[] = {
#embed "../../HeraldAPI/Dashboard/Pages/events.js"
};
static const unsigned char explained_js[] = {
#embed "../../HeraldAPI/Dashboard/Pages/explained.js"
};
static const unsigned char fanout_js[] = {
#embed "../../HeraldAPI/Dashboard/Pages/fanout.js"
};
static const unsigned char fields_js[] = {
#embed "../../HeraldAPI/Dashboard/Pages/fields.js"
};
static const unsigned char filters_js[] = {
#embed "../../HeraldAPI/Dashboard/Pages/filters.js"
};
static const unsigned char form_js[] = {
#embed "../../HeraldAPI/Dashboard/Pages/form.js"
};
static const unsigned char format_js[] = {
#embed "../../HeraldAPI/Dashboard/Pages/format.js"
};
static const unsigned char german_js[] = {
#embed "../../HeraldAPI/Dashboard/Pages/german.js"
};
static const unsigned char history_js[] = {
#embed "../../HeraldAPI/Dashboard/Pages/history.js"
};
static const unsigned char icon_svg[] = {
#embed "../../HeraldAPI/Dashboard/Pages/icon.svg"
};
static const unsigned char index_html[] = {
#embed "../../HeraldAPI/Dashboard/Pages/index.html"
};
static const unsigned char json_js[] = {
#embed "../../HeraldAPI/Dashboard/Pages/json.js"
};
static const unsigned char live_js[] = {
#embed "../../HeraldAPI/Dashboard/Pages/live.js"
};
static const unsigned char nodes_js[] = {
#embed "../../HeraldAPI/Dashboard/Pages/nodes.js"
};
static const unsigned char overview_js[] = {
#embed "../../HeraldAPI/Dashboard/Pages/overview.js"
};
static const unsigned char pages_js[] = {
#embed "../../HeraldAPI/Dashboard/Pages/pages.js"
};
static const unsigned char post_js[] = {
#embed "../../HeraldAPI/Dashboard/Pages/post.js"
};
static const unsigned char recipe_js[] = {
#embed "../../HeraldAPI/Dashboard/Pages/recipe.js"
};
static const unsigned char replay_js[] = {
#embed "../../HeraldAPI/Dashboard/Pages/replay.js"
};
static const unsigned char scheduled_js[] = {
#embed "../../HeraldAPI/Dashboard/Pages/scheduled.js"
};
static const unsigned char secret_js[] = {
#embed "../../HeraldAPI/Dashboard/Pages/secret.js"
};
static const unsigned char server_js[] = {
#embed "../../HeraldAPI/Dashboard/Pages/server.js"
};
static const unsigned char signin_js[] = {
#embed "../../HeraldAPI/Dashboard/Pages/signin.js"
};
static const unsigned char state_js[] = {
#embed "../../HeraldAPI/Dashboard/Pages/state.js"
};
static const unsigned char story_js[] = {
#embed "../../HeraldAPI/Dashboard/Pages/story.js"
};
static const unsigned char style_css[] = {
#embed "../../HeraldAPI/Dashboard/Pages/style.css"
};
static const unsigned char svg_js[] = {
#embed "../../HeraldAPI/Dashboard/Pages/svg.js"
};
static const unsigned char texts_js[] = {
#embed "../../HeraldAPI/Dashboard/Pages/texts.js"
};
static const unsigned char times_js[] = {
#embed "../../HeraldAPI/Dashboard/Pages/times.js"
};
static const unsigned char types_js[] = {
#embed "../../HeraldAPI/Dashboard/Pages/types.js"
};

#define FILE_NAMED(name, bytes) {name, bytes, sizeof bytes}

static const struct herald_resource resources[] = {
    FILE_NAMED("openapi.json", openapi_json),
    FILE_NAMED("openapi.yaml", openapi_yaml),
    FILE_NAMED("problems.md", problems_md),
    FILE_NAMED("docs.css", docs_css),
    FILE_NAMED("docs.html", docs_html),
    FILE_NAMED("docs.txt", docs_txt),
    FILE_NAMED("llms.txt", llms_txt),
    FILE_NAMED("access.js", access_js),
    FILE_NAMED("activity.js", activity_js),
    FILE_NAMED("api.js", api_js),
    FILE_NAMED("app.js", app_js),
    FILE_NAMED("appearance.js", appearance_js),
    FILE_NAMED("attempt.js", attempt_js),
    FILE_NAMED("attempts.js", attempts_js),
    FILE_NAMED("bulk.js", bulk_js),
    FILE_NAMED("charts.js", charts_js),
    FILE_NAMED("delegates.js", delegates_js),
    FILE_NAMED("deliveries.js", deliveries_js),
    FILE_NAMED("dom.js", dom_js),
    FILE_NAMED("drawer.js", drawer_js),
    FILE_NAMED("events.js", events_js),
    FILE_NAMED("explained.js", explained_js),
    FILE_NAMED("fanout.js", fanout_js),
    FILE_NAMED("fields.js", fields_js),
    FILE_NAMED("filters.js", filters_js),
    FILE_NAMED("form.js", form_js),
    FILE_NAMED("format.js", format_js),
    FILE_NAMED("german.js", german_js),
    FILE_NAMED("history.js", history_js),
    FILE_NAMED("icon.svg", icon_svg),
    FILE_NAMED("index.html", index_html),
    FILE_NAMED("json.js", json_js),
    FILE_NAMED("live.js", live_js),
    FILE_NAMED("nodes.js", nodes_js),
    FILE_NAMED("overview.js", overview_js),
    FILE_NAMED("pages.js", pages_js),
    FILE_NAMED("post.js", post_js),
    FILE_NAMED("recipe.js", recipe_js),
    FILE_NAMED("replay.js", replay_js),
    FILE_NAMED("scheduled.js", scheduled_js),
    FILE_NAMED("secret.js", secret_js),
    FILE_NAMED("server.js", server_js),
    FILE_NAMED("signin.js", signin_js),
    FILE_NAMED("state.js", state_js),
    FILE_NAMED("story.js", story_js),
    FILE_NAMED("style.css", style_css),
    FILE_NAMED("svg.js", svg_js),
    FILE_NAMED("texts.js", texts_js),
    FILE_NAMED("times.js", times_js),
    FILE_NAMED("types.js", types_js),
};

struct herald_resource herald_resource_named(const char *name) {
    for (size_t index = 0; index < sizeof resources / sizeof resources[0]; index++) {
        if (strcmp(resources[index].name, name) == 0) return resources[index];
    }
    return (struct herald_resource){name, NULL, 0};
}
