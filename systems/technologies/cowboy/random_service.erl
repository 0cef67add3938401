%% GET /random?num=N with Cowboy: a JSON list of N random numbers, each as a string of six digits.
-module(random_service).
-export([start/0, init/2]).

start() ->
    {ok, _} = application:ensure_all_started(cowboy),
    Dispatch = cowboy_router:compile([{'_', [{"/random", ?MODULE, []}]}]),
    Backlog = [{backlog, Backlog} || Backlog <- setting("BACKLOG")],
    {ok, Address} = inet:parse_ipv4_address(os:getenv("LISTEN")),
    [Port] = setting("PORT"),
    Options = tuned(os:getenv("TUNED"), #{socket_opts => [{ip, Address}, {port, Port} | Backlog]}),
    {ok, _} = cowboy:start_clear(?MODULE, Options, #{env => #{dispatch => Dispatch}}).

%% What Plug.Cowboy, and so Phoenix, sets; Ranch's own are 10 and 1024.
tuned("true", Options) -> Options#{num_acceptors => 100, max_connections => 16384};
tuned(_, Options) -> Options.

setting(Name) ->
    case os:getenv(Name) of
        false -> [];
        Value -> [list_to_integer(Value)]
    end.

init(Request, State) ->
    %% Cowboy answers 400 if a constraint fails.
    #{num := Num} = cowboy_req:match_qs([{num, [int, fun in_range/2], 10}], Request),
    Numbers = [number() || _ <- lists:seq(1, Num)],
    Body = [$[, lists:join($,, Numbers), $]],
    {ok, cowboy_req:reply(200, #{<<"content-type">> => <<"application/json">>}, Body, Request), State}.

in_range(forward, Num) when Num >= 0, Num =< 100000 -> {ok, Num};
in_range(forward, _) -> {error, out_of_range};
in_range(format_error, _) -> <<"num is a number from 0 to 100000">>.

number() ->
    io_lib:format("\"~6..0B\"", [rand:uniform(1000000) - 1]).
